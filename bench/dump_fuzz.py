"""Fuzzing of the dump reader: bytes in, plain data or one line out, and nothing imported, opened, compiled or started.

Run: `python bench/dump_fuzz.py [seconds] [folder]` (600 s; the folder keeps the corpus and what was found). Guided by
coverage with atheris where it is installed (`pip install atheris`; libFuzzer underneath); without it, and said so, by
mutation that keeps inputs which reach new lines, seen by `sys.settrace`: many times slower.

What counts as a find: an exception other than a refusal, a refusal of several lines, data that JSON cannot hold, an
audit event (import, open, compile, exec, a process, a socket, pickle's own lookup), more than two processor seconds.
Seeds: dumps of every release, plain pickles of every protocol, and the hostile files of the tests.
"""

import json
import pickle
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

SECONDS: Final = 600
LONGEST: Final = 4096  # bytes of an input
SLOW_S: Final = 2.0
WATCHED: Final = ("import", "open", "exec", "compile", "pickle.find_class", "marshal.loads")
WATCHED_ROOMS: Final = ("os.", "subprocess.", "socket.", "ctypes.", "shutil.")
WORDS: Final = ("server_args", "requests", "os", "system", "builtins", "eval", "getattr", "collections", "OrderedDict",
                "sglang.srt.managers.io_struct", "GenerateReqInput", "copyreg", "_reconstructor")  # fmt: skip
events: list[str] = []
looking = False


def audit(event: str, _: tuple[Any, ...]) -> None:
    """Keep what a reader of bytes has no business doing."""
    if looking and (event in WATCHED or event.startswith(WATCHED_ROOMS)):
        events.append(event)


def one(data: bytes) -> None:
    """Read one input as the child does. Raises AssertionError, or whatever the reader lets through, for a find."""
    global looking
    from array import array

    from ridgeline.signals.dump.inert.child import answer
    from ridgeline.signals.dump.inert.limits import Limits
    from ridgeline.signals.dump.shapes import dump_of

    limits = Limits(objects=300_000, memo=100_000, text_bytes=1 << 20)
    began = time.process_time()
    looking = True
    found = answer(data, limits, time.monotonic() + 10 * SLOW_S, array("i"))
    text = json.dumps(found)
    looking = False
    assert not events, events
    assert time.process_time() - began < SLOW_S, "slow"
    if "refused" in found:
        assert "\n" not in found["refused"], found
        assert len(found["refused"]) < 400, found
    else:
        dump = dump_of(json.loads(text)["root"], "fuzz")
        assert dump is None or dump.finished + dump.unfinished <= len(dump.requests)


def seeds() -> list[bytes]:
    """Inputs to start from."""
    from tests.signals.dump.compose import dump, entry, hostile, opened

    values: list[Any] = [
        {"a": [1, 300, 70000, 1 << 80, -1, 1.5, None, True, "x", b"y", (1, 2), {3}, frozenset((4,)), bytearray(b"z")]},
        [((1, 2), {"meta_info": {}}, 1.5, 2.5)], {"server_args": None, "requests": []}, 1 + 2j,
    ]  # fmt: skip
    made = [pickle.dumps(value, protocol) for value in values for protocol in range(6)]
    made += [dump([entry("a"), opened("b")], version, True) for version in ("0.4.6", "0.4.10", "0.5.9", "0.5.23")]
    return [*made, *(data for data in hostile("never-made").values() if len(data) <= LONGEST)]


def guided(seconds: int, folder: Path) -> None:
    """In a process of its own: libFuzzer ends it."""
    corpus = folder / "corpus"
    words = folder / "words"
    words.write_text("".join(f'"{word}"\n' for word in WORDS))
    command = [sys.executable, __file__, "--inside", f"-max_total_time={seconds}", f"-max_len={LONGEST}",
               f"-artifact_prefix={folder}/", f"-dict={words}", "-rss_limit_mb=3000", "-timeout=200",
               "-print_final_stats=1", str(corpus)]  # fmt: skip
    began = time.monotonic()
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    (folder / "log").write_text(done.stderr)
    runs = re.findall(r"stat::number_of_executed_units:\s+(\d+)", done.stderr)
    edges = re.findall(r"cov: (\d+)", done.stderr)
    kept = len(list(corpus.iterdir()))
    print(f"atheris: {int(runs[-1]) if runs else 0:,} inputs in {time.monotonic() - began:.0f} s, "
          f"{edges[-1] if edges else '?'} edges, {kept:,} inputs kept, exit {done.returncode}")  # fmt: skip
    if done.returncode:
        print("found: " + done.stderr[-3000:])
        sys.exit(2)
    print("no crash found")


def inside(arguments: list[str]) -> None:
    """The fuzzed process."""
    import atheris  # type: ignore[import-untyped,import-not-found,unused-ignore]

    with atheris.instrument_imports(include=["ridgeline.signals.dump"]):
        import ridgeline.signals.dump.inert.child
        import ridgeline.signals.dump.shapes  # noqa: F401
    sys.addaudithook(audit)
    folder = next(Path(a.partition("=")[2]) for a in arguments if a.startswith("-artifact_prefix="))

    def kept(data: bytes) -> None:
        try:
            one(data)
        except BaseException:
            (folder / f"found-{len(data)}-{hash(data) & 0xFFFF:04x}").write_bytes(data)
            raise

    atheris.Setup([sys.argv[0], *arguments], kept)
    atheris.Fuzz()


def unguided(seconds: int, folder: Path) -> None:
    """Mutation that keeps what reaches new lines of the reader."""
    import ridgeline.signals.dump.inert.child
    import ridgeline.signals.dump.shapes  # noqa: F401

    print("atheris is not installed (pip install atheris): mutation guided by lines, many times slower")
    sys.addaudithook(audit)
    draw = random.Random(1)
    pool = seeds()
    seen: set[tuple[str, int, int]] = set()
    fresh = False

    def lines(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal fresh
        if "signals/dump" not in frame.f_code.co_filename:
            return None
        if event == "line":
            at = (frame.f_code.co_name, frame.f_code.co_firstlineno, frame.f_lineno)
            if at not in seen:
                seen.add(at)
                fresh = True
        return lines

    began, runs = time.monotonic(), 0
    while time.monotonic() - began < seconds:
        data = pool[runs] if runs < len(pool) else mutated(pool, draw)
        fresh = False
        sys.settrace(lines)
        try:
            one(data)
        except BaseException:
            sys.settrace(None)
            (folder / f"crash-{runs}").write_bytes(data)
            print(f"found: {folder}/crash-{runs}")
            raise
        finally:
            sys.settrace(None)
        runs += 1
        if fresh and runs > len(pool):
            pool.append(data)
    print(f"mutation: {runs:,} inputs in {seconds} s, {len(seen):,} lines, {len(pool):,} inputs kept\nno crash found")


def mutated(pool: list[bytes], draw: random.Random) -> bytes:
    """One input changed in a few places, or two spliced."""
    data = bytearray(draw.choice(pool))
    for _ in range(draw.randrange(1, 6)):
        at = draw.randrange(len(data) + 1)
        how = draw.randrange(5)
        if how == 0 and at < len(data):
            data[at] = draw.randrange(256)
        elif how == 1:
            data[at:at] = draw.randbytes(draw.randrange(1, 5))
        elif how == 2:
            del data[at : at + draw.randrange(1, 9)]
        elif how == 3:
            other = draw.choice(pool)
            start = draw.randrange(len(other))
            data[at:at] = other[start : start + draw.randrange(1, 64)]
        else:
            data[at:at] = draw.choice(WORDS).encode()
    return bytes(data[:LONGEST])


def main() -> None:
    """Fuzz for so many seconds; exit 2 where something was found."""
    if "--inside" in sys.argv:
        inside([a for a in sys.argv[1:] if a != "--inside"])
        return
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(tempfile.mkdtemp(prefix="dump-fuzz-"))
    (folder / "corpus").mkdir(parents=True, exist_ok=True)
    for i, data in enumerate(seeds()):
        (folder / "corpus" / f"seed-{i:03}").write_bytes(data)
    try:
        import atheris  # noqa: F401
    except ImportError:
        unguided(seconds, folder)
    else:
        guided(seconds, folder)


if __name__ == "__main__":
    main()
