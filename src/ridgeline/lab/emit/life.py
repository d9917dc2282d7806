"""Lines about the life of a server: access, health, watchdog, crash, out of memory, cache (SIGNALS §6.4, §6.5)."""

from datetime import UTC, datetime

from ridgeline.lab.emit.model import Line, Server
from ridgeline.lab.emit.stamp import clock, prefix

PHRASE = {200: "OK", 400: "Bad Request", 499: "Client Closed Request", 500: "Internal Server Error",
          502: "Bad Gateway", 503: "Service Unavailable"}  # fmt: skip


def access_line(server: Server, ts: float, client: str, method: str, path: str, status: int) -> Line:
    """The HTTP access line."""
    return Line(ts, f'{prefix(server, ts)}INFO:     {client} - "{method} {path} HTTP/1.1" {status} {PHRASE[status]}')


def health_failed(server: Server, ts: float, last_beat_ts: float) -> Line:
    """The API server had no answer from the detokenizer for 20 seconds."""
    return Line(
        ts,
        f"{prefix(server, ts)}Health check failed. Server couldn't get a response from detokenizer for last 20 "
        "seconds. "
        f"tic start time: {clock(ts - 20)[11:]}. last_heartbeat time: {clock(last_beat_ts)[11:]}",
    )


def watchdog(server: Server, ts: float, rank: int) -> list[Line]:
    """A scheduler made no progress for its watchdog's time; five seconds later the parent is told."""
    head = "Watchdog timeout (self.watchdog_timeout=300)" if server.at == 0 else (
        "Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)")  # fmt: skip
    return [Line(ts, prefix(server, ts, rank) + head), *quit_lines(server, ts + 5)]


def quit_lines(server: Server, ts: float) -> list[Line]:
    """What the API server writes when a child has failed."""
    return [
        Line(ts, f"{prefix(server, ts)}SIGQUIT received. signum=None, frame=None. It usually means one child failed."),
    ]


def dump_lines(server: Server, ts: float, path: str, finished: int, unfinished: int) -> list[Line]:
    """What it writes about the crash dump."""
    folder = path.rsplit("/", 2)[0]
    return [
        Line(ts, f"{prefix(server, ts)}Dumping requests before crash. self.crash_dump_folder='{folder}'"),
        Line(
            ts,
            f"{prefix(server, ts)}Dumped {finished} finished and {unfinished} unfinished requests before crash "
            f"to {path}",
        ),
    ]


def trace_text(frames: tuple[tuple[str, int, str, str], ...], last: str) -> str:
    """A Python traceback: file, line, function, source per frame, and the exception."""
    lines = ["Traceback (most recent call last):"]
    for file, number, function, source in frames:
        lines += [f'  File "/opt/sglang/python/sglang/srt/{file}", line {number}, in {function}', f"    {source}"]
    return "\n".join([*lines, last])


RUN = (
    ("managers/scheduler.py", 3121, "run_scheduler_process", "scheduler.run_event_loop()"),
    ("managers/scheduler.py", 1187, "event_loop_normal", "result = self.run_batch(batch)"),
    ("managers/tp_worker.py", 402, "forward_batch_generation", "out = self.model_runner.forward(forward_batch)"),
)


def cuda_oom(server: Server, ts: float, rank: int, tried_mib: float, free_mib: float) -> list[Line]:
    """CUDA ran out of memory inside a forward pass: the scheduler dies, the parent follows."""
    last = (
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {tried_mib:.2f} MiB. GPU {rank} has a total "
        f"capacity of 79.10 GiB of which {free_mib:.2f} MiB is free. Process 40{rank}17 has 78.62 GiB memory in use."
    )
    frames = (*RUN, ("layers/logits_processor.py", 611, "_get_logits", "logits = torch.matmul(hidden_states, weight)"))
    text = f"{prefix(server, ts, rank)}Scheduler hit an exception: {trace_text(frames, last)}"
    return [Line(ts, text), *quit_lines(server, ts)]


def exception(server: Server, ts: float, rank: int, last: str) -> list[Line]:
    """Any other exception that ends a scheduler."""
    text = f"{prefix(server, ts, rank)}Scheduler hit an exception: {trace_text(RUN, last)}"
    return [Line(ts, text), *quit_lines(server, ts)]


def slots_exhausted(server: Server, ts: float, rank: int) -> list[Line]:
    """The table of request rows is used up."""
    return exception(
        server, ts, rank,
        "RuntimeError: alloc_req_slots runs out of memory. Please set a smaller number for `--max-running-requests`. "
        f"req_to_token_pool.available_size()=0, num_reqs=1, max_running_requests={server.max_running}",
    )  # fmt: skip


def killed(server: Server, ts: float, rank: int) -> list[Line]:
    """A scheduler ended by SIGKILL from outside: no traceback, only what the parent sees."""
    if server.at == 0:
        first = f"Scheduler or DataParallelController {server.pid + 60 + rank} terminated with -9"
    else:
        first = (
            f"Subprocess scheduler_{rank} (pid={server.pid + 60 + rank}) crashed with exit code -9. "
            "Triggering SIGQUIT for cleanup..."
        )
    return [Line(ts, prefix(server, ts) + first), *quit_lines(server, ts)]


def kernel_lines(server: Server, ts: float, rank: int) -> list[Line]:
    """What the kernel's log says of a process it killed for memory (``dmesg -T``)."""
    pid = server.pid + 60 + rank
    when = datetime.fromtimestamp(ts, UTC).strftime("[%a %b %d %H:%M:%S %Y]")
    return [
        Line(
            ts,
            f"{when} Out of memory: Killed process {pid} (sglang::schedul) total-vm:198234112kB, anon-rss:121870336kB, "
            "file-rss:0kB, shmem-rss:8192kB, UID:0 pgtables:312064kB oom_score_adj:0",
        ),
        Line(
            ts,
            f"{when} oom_reaper: reaped process {pid} (sglang::schedul), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
        ),
    ]


def shutdown(server: Server, ts: float, left: int) -> list[Line]:
    """An orderly end."""
    text = "SIGTERM received. signum=None frame=None. Draining requests and shutting down..."
    return [
        Line(ts, prefix(server, ts) + text),
        Line(ts + 1, f"{prefix(server, ts + 1)}Gracefully exiting... Remaining number of requests {left}. "
                     "Remaining requests remaining_rids=[]."),
    ]  # fmt: skip


def flushed(server: Server, ts: float, rank: int) -> Line:
    """The prefix cache was emptied."""
    return Line(ts, f"{prefix(server, ts, rank)}Cache flushed successfully!")


def backlog(server: Server, ts: float, rid: str, chunks: int) -> Line:
    """The API server coalesces chunks of a stream nobody takes (0.5.23)."""
    return Line(
        ts,
        f"{prefix(server, ts)}Streaming backlog: rid={rid}, coalescing {chunks} queued chunks into one. "
        "The client or the API server is slow to consume the stream.",
    )


def aborted_last(server: Server, ts: float, rank: int, rid: str) -> Line:
    """One request does not fit even alone (0.5.23)."""
    return Line(ts, f"{prefix(server, ts, rank)}retract_decode: aborted last request {rid} due to OOM")
