"""vLLM 0.32 server log (SIGNALS §15.2, §15.3): start, periodic statistics, requests, preemption, the end."""

from dataclasses import dataclass
from datetime import UTC, datetime

from ridgeline.lab.emit.model import Line, Request, Server


@dataclass(frozen=True)
class Stats:
    """One statistics line. Rates in tokens per second, shares 0 to 1."""

    ts: float
    engine: int
    prompt_tps: float
    generation_tps: float
    running: int
    waiting: int
    preemptions: int
    usage: float
    hit_rate: float


def head(server: Server, ts: float, where: str, level: str = "INFO", process: str = "APIServer") -> str:
    """``(APIServer pid=812) INFO 11-30 03:41:00 [loggers.py:335] ``; there is no year."""
    pid = server.pid if process == "APIServer" else server.pid + 43
    when = datetime.fromtimestamp(ts, UTC).strftime("%m-%d %H:%M:%S")
    return f"({process} pid={pid}) {level} {when} [{where}] "


def startup_lines(server: Server) -> list[Line]:
    """A boot."""
    t = server.boot_ts
    args = (
        f"{{'model_tag': '{server.model}', 'host': '{server.host}', 'port': {server.port}, 'model': '{server.model}', "
        f"'max_model_len': {server.context_len}, 'block_size': {server.page_size}, "
        f"'enable_prefix_caching': True, 'max_num_seqs': {server.max_running}, "
        f"'max_num_batched_tokens': {server.max_prefill_tokens}, 'enable_log_requests': True}}"
    )
    concurrency = server.pool_tokens / server.context_len
    said = [
        (0.0, "api_utils.py:286", "APIServer", f"non-default args: {args}"),
        (0.3, "model.py:733", "APIServer", "Resolved architecture: LlamaForCausalLM"),
        (0.3, "model.py:2152", "APIServer", f"Using max model len {server.context_len}"),
        (4.0, "core.py:133", "EngineCore", f"Initializing a V1 LLM engine (v{server.version}) with config: "
         f"model='{server.model}', speculative_config=None, tokenizer='{server.model}', dtype=torch.bfloat16, "
         f"max_seq_len={server.context_len}, tensor_parallel_size={server.tp_size}, pipeline_parallel_size=1, "
         f"data_parallel_size={server.dp_size}, enable_prefix_caching=True"),
        (9.0, "default_loader.py:501", "Worker", "Loading weights took 4.61 seconds"),
        (11.0, "kv_cache_utils.py:2327", "EngineCore", f"GPU KV cache size: {server.pool_tokens:,} tokens, "
         f"Maximum concurrency for {server.context_len:,} tokens per request: {concurrency:.2f}x"),
        (13.0, "core.py:402", "EngineCore", "init engine (profile, create kv cache, warmup model) took 6.20 s"),
        (13.5, "entry.py:136", "APIServer", "Supported tasks: ['generate']"),
    ]  # fmt: skip
    lines = [Line(t + dt, head(server, t + dt, where, process=process) + text) for dt, where, process, text in said]
    uvicorn = (f"INFO:     Started server process [{server.pid}]", "INFO:     Waiting for application startup.",
               "INFO:     Application startup complete.")  # fmt: skip
    return lines + [Line(t + 14, text) for text in uvicorn]


def stats_line(server: Server, s: Stats) -> Line:
    """The periodic line of one engine."""
    preempted = f"Preemptions: {s.preemptions}, " if s.preemptions else ""
    return Line(
        s.ts,
        f"{head(server, s.ts, 'loggers.py:335')}Engine {s.engine:03d}: "
        f"Avg prompt throughput: {s.prompt_tps:.1f} tokens/s, "
        f"Avg generation throughput: {s.generation_tps:.1f} tokens/s, Running: {s.running} reqs, "
        f"Waiting: {s.waiting} reqs, {preempted}GPU KV cache usage: {100 * s.usage:.1f}%, "
        f"Prefix cache hit rate: {100 * s.hit_rate:.1f}%",
    )


def received_line(server: Server, r: Request) -> Line:
    """A request taken in (request logging enabled)."""
    limit = r.max_new_tokens if r.max_new_tokens is not None else server.context_len - r.prompt_tokens
    guided = "StructuredOutputsParams(json=...)" if r.schema else "None"
    params = (
        "SamplingParams(n=1, presence_penalty=0.0, frequency_penalty=0.0, repetition_penalty=1.0, "
        f"temperature={r.temperature}, watermarking=None, top_p=1.0, top_k=0, min_p=0.0, seed=None, stop=[], "
        "stop_token_ids=[], bad_words=[], thinking_token_budget=None, include_stop_str_in_output=False, "
        f"ignore_eos={r.ignore_eos}, max_tokens={limit}, min_tokens=0, logprobs=None, prompt_logprobs=None, "
        "skip_special_tokens=True, spaces_between_special_tokens=True, "
        f"structured_outputs={guided}, extra_args=None)"
    )
    return Line(
        r.received_ts,
        f"{head(server, r.received_ts, 'request_logger.py:65')}Received request {r.rid}: "
        f"params: {params}, lora_request: None.",
    )


def added_line(server: Server, r: Request) -> Line:
    """The engine has it."""
    ts = r.dispatched_ts or r.received_ts
    return Line(ts, f"{head(server, ts, 'async_llm.py:578')}Added request {r.rid}.")


def aborted_line(server: Server, ts: float, rid: str) -> Line:
    """The client went away."""
    return Line(ts, f"{head(server, ts, 'async_llm.py:892')}Aborted request(s) {rid}.")


def access_line(ts: float, client: str, path: str, status: int) -> Line:
    """uvicorn's access line, without a time."""
    phrase = {200: "OK", 400: "Bad Request", 500: "Internal Server Error", 503: "Service Unavailable"}[status]
    return Line(ts, f'INFO:     {client} - "POST {path} HTTP/1.1" {status} {phrase}')


def died_lines(server: Server, ts: float, last: str) -> list[Line]:
    """The engine core ended by an exception; the API server notices."""
    core = head(server, ts, "core.py:1093", "ERROR", "EngineCore")
    return [
        Line(ts, f"{core}EngineCore encountered a fatal error."),
        Line(ts, f"{core}Traceback (most recent call last):"),
        Line(ts, f'{core}  File "/opt/vllm/vllm/v1/engine/core.py", line 1084, in run_engine_core'),
        Line(ts, f"{core}    engine_core.run_busy_loop()"),
        Line(ts, core + last),
        Line(
            ts + 0.1,
            f"{head(server, ts + 0.1, 'async_llm.py:708', 'ERROR')}AsyncLLM output_handler failed.",
        ),
    ]
