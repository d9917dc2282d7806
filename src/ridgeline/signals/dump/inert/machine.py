"""The pickle machine: opcodes in, plain values and inert records out. Protocols 0 to 5.

It knows the opcodes by their bytes and does what they say with its own stack and memo. A global becomes a `Global`, a
call of one an `Inert` or, for a short list of containers, the container (`calls.py`). Nothing is imported, looked up or
called. Everything that can grow is capped; what is wrong raises `Refusal`, the end of the data inside it `Cut`.

The stack is a list per open MARK, so that no opcode can reach below its mark.
"""

from collections.abc import Callable
from struct import Struct
from struct import error as StructError  # noqa: N812 - the library's own name says nothing
from time import monotonic
from typing import Any, Final

from ridgeline.signals.dump.inert.limits import Limits
from ridgeline.signals.dump.inert.opcodes import OTHERS
from ridgeline.signals.dump.inert.things import Cut, Refusal

STRIDE: Final = 1 << 14  # opcodes between two looks at the clock and the caps
I32_AND_OP: Final = Struct("<iB").unpack_from  # a number and the opcode behind it
F64: Final = Struct(">d").unpack_from
READERS: Final = frozenset(b"KMJjh\x8c")  # read here with plain indexing


class Machine:
    """One pickle being read: `data` from `pos` on, the open stacks, the memo."""

    def __init__(self, data: bytes, limits: Limits, deadline: float) -> None:
        self.data = data
        self.limits = limits
        self.deadline = deadline  # on the monotonic clock
        self.pos = 0
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []  # one list for each open MARK
        self.memo: dict[int, Any] = {}
        self.objects = 0
        self.frame_end = 0
        self.stopped = False

    def spend(self, objects: int) -> None:
        """Count objects made. Raises Refusal beyond the cap."""
        self.objects += objects
        if self.objects > self.limits.objects:
            raise Refusal(f"builds more than {self.limits.objects:,} objects")

    def check(self) -> None:
        """Raises Refusal where time, memo or objects are used up."""
        self.spend(STRIDE)
        if len(self.memo) > self.limits.memo:
            raise Refusal(f"fills its memo with more than {self.limits.memo:,} entries")
        if monotonic() > self.deadline:
            raise Refusal("takes too long to read")

    def take(self, size: int) -> bytes:
        """The next bytes. Raises Cut where the data ends before."""
        end = self.pos + size
        if end > len(self.data):
            raise Cut("ends inside a value")
        found = self.data[self.pos : end]
        self.pos = end
        return found

    def line(self, most: int) -> bytes:
        """The text up to the next newline. Raises Cut where there is none, Refusal where it is longer than `most`."""
        end = self.data.find(b"\n", self.pos, self.pos + most + 1)
        if end < 0:
            raise Cut("ends inside a value") if len(self.data) - self.pos <= most else Refusal("has an overlong line")
        found = self.data[self.pos : end]
        self.pos = end + 1
        return found

    def marked(self) -> list[Any]:
        """Everything above the last MARK, which is taken off with it."""
        found = self.stack
        if not self.below:
            raise Refusal("closes a mark that was never set")
        self.stack = self.below.pop()
        return found

    def run(self) -> Any:
        """The value of the pickle. Raises Refusal (`pos` is near the byte) or Cut."""
        try:
            while not self.stopped:
                self._stretch()
                self.check()
        except StructError:
            raise Cut("ends inside a value") from None
        except (TypeError, ValueError, OverflowError, UnicodeError) as e:
            raise Refusal(f"holds a value that is none ({type(e).__name__})") from None
        if self.frame_end > len(self.data):
            raise Refusal(f"declares a frame up to byte {self.frame_end:,} and is {len(self.data):,} bytes long")
        return self.stack.pop()

    def _stretch(self) -> None:
        """`STRIDE` opcodes, fewer where the pickle stops. The frequent ones are here, the rest in `opcodes.OTHERS`."""
        data, memo = self.data, self.memo
        pos, stack, op = self.pos, self.stack, 0
        push = stack.append
        others: list[Callable[[Machine], None] | None] = OTHERS
        try:
            for _ in range(STRIDE):
                op = data[pos]
                pos += 1
                if op == 0x4B or op == 0x4D or op == 0x4A:  # K M J: runs of token ids
                    while True:
                        if op == 0x4D:
                            push(data[pos] | data[pos + 1] << 8)
                            pos += 2
                        elif op == 0x4B:
                            push(data[pos])
                            pos += 1
                        elif op == 0x4A:
                            value, op = I32_AND_OP(data, pos)
                            push(value)
                            pos += 5
                            continue
                        else:
                            break
                        op = data[pos]
                        pos += 1
                # every branch below sees the first opcode that is no small number
                if op == 0x94:  # MEMOIZE
                    memo[len(memo)] = stack[-1]
                elif op == 0x6A:  # j LONG_BINGET
                    push(memo[data[pos] | data[pos + 1] << 8 | data[pos + 2] << 16 | data[pos + 3] << 24])
                    pos += 4
                elif op == 0x4E:  # N
                    push(None)
                elif op == 0x68:  # h BINGET
                    push(memo[data[pos]])
                    pos += 1
                elif op == 0x89:
                    push(False)
                elif op == 0x8C:  # SHORT_BINUNICODE
                    end = pos + 1 + data[pos]
                    raw = data[pos + 1 : end]
                    if end > len(data):
                        raise Cut("ends inside a text")
                    push(raw.decode("utf-8", "surrogatepass"))
                    pos = end
                elif op == 0x47:  # G BINFLOAT
                    push(F64(data, pos)[0])
                    pos += 8
                elif op == 0x28:  # ( MARK
                    self.below.append(stack)
                    stack = self.stack = []
                    push = stack.append
                elif op == 0x7D:  # }
                    push({})
                elif op == 0x88:
                    push(True)
                elif op == 0x5D:  # ]
                    push([])
                else:
                    other = others[op]
                    if other is None:
                        raise Refusal(f"has a byte that is no opcode (0x{op:02x})")
                    self.pos = pos
                    other(self)
                    pos = self.pos
                    stack = self.stack
                    push = stack.append
                    if self.stopped:
                        return
        except KeyError as e:
            raise Refusal(f"asks for memo entry {e.args[0]!r:.20} that was never put") from None
        except IndexError:
            if pos >= len(data) or op in READERS:
                raise Cut("ends inside a value" if op in READERS else "ends without an end mark") from None
            raise Refusal("takes from an empty stack") from None
        finally:
            self.pos = pos
