"""What a server says of itself → `servers` and `config`: `/server_info`, `/get_server_info`, `/model_info`, `/version`.

SIGNALS §7.2. The first answer gives every key; later ones only what changed since. Keys under `internal_states` are
per DP rank and are given where they differ from the top level. `pool_tokens` and `max_running` are those of one DP
rank. Secrets are `<secret>`.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ridgeline.signals.answers import Answer, Answers
from ridgeline.signals.rows import Reading, Rows, rows_of
from ridgeline.signals.settings import ROLES, config_rows, flat, server_columns
from ridgeline.signals.stream import Blob

# Change without anyone changing a setting.
VOLATILE: Final = ("last_gen_throughput", "random_seed", "status", "nccl_port", "port", "startup_time")
KNOWN: Final = frozenset(
    (
        *("internal_states", "is_generation", "max_total_num_tokens", "model_path"),
        *("server_args", "tp_size", "version", "vllm_config"),
    )
)


def read(blob: Blob, reading: Reading) -> Iterator[Rows]:
    """Rows of `servers`, `config`, `scrapes` and `unread`."""
    answers = Answers(blob, reading)
    before: dict[tuple[str, int | None], str] = {}
    servers: list[dict[str, Any]] = []
    config: list[dict[str, Any]] = []
    for answer in answers:
        info = answer.value
        if not isinstance(info, dict) or not (
            KNOWN & info.keys() or any(str(key).startswith("hicache") for key in info)
        ):
            answers.refuse(answer, "not an answer about a server")
            continue
        answers.took(answer)
        settings, ranks = _settings(info)
        origin = "model_info" if "is_generation" in info else "server_info"
        at = {"line": answer.line, "ts": answer.scrape.ts, "origin": origin}
        for rank, keys in ((None, settings), *ranks.items()):
            for key, value in keys.items():
                if before.get((key, rank)) != value and (not servers or key.rpartition(".")[2] not in VOLATILE):
                    config.append({**at, "key": key, "value": value, "dp_rank": rank})
                before[key, rank] = value
        row = _server(answer, info, settings, ranks)
        reading.version, reading.role = row["version"] or reading.version, row["role"] or reading.role
        if not servers or any(servers[-1][name] != row[name] for name in row if name != "line"):
            servers.append(row)
    if servers:
        columns = {name: [row[name] for row in servers] for name in servers[0]}
        yield rows_of("servers", {**columns, "source": [reading.source] * len(servers)})
    yield from config_rows(reading, config)
    yield from answers.rows()


def _settings(info: Mapping[str, Any]) -> tuple[dict[str, str], dict[int, dict[str, str]]]:
    """(settings of the server, what each DP rank says otherwise or besides)."""
    nested = info.get("server_args")
    settings = flat(info, skip=("internal_states", *(("server_args",) if isinstance(nested, dict) else ())))
    if isinstance(nested, dict):
        settings = {**flat(nested), **settings}
    states = info.get("internal_states")
    ranks: dict[int, dict[str, str]] = {}
    for rank, state in enumerate(states if isinstance(states, list) else [states] if states else []):
        if isinstance(state, dict):
            ranks[rank] = {key: value for key, value in flat(state).items() if settings.get(key) != value}
    return settings, ranks


def _server(
    answer: Answer, info: Mapping[str, Any], settings: Mapping[str, str], ranks: Mapping[int, Mapping[str, str]]
) -> dict[str, Any]:
    first = ranks.get(0, {})
    version = info.get("version")
    mode = settings.get("disaggregation_mode")
    stable = {key: value for key, value in settings.items() if key.partition(".")[0] not in VOLATILE}
    engine = (
        "sglang" if {"internal_states", "is_generation", "server_args", "disaggregation_mode"} & info.keys() else None
    )
    return {
        "engine": engine or ("vllm" if "vllm_config" in info or info.keys() == {"version"} else None),
        "version": version if isinstance(version, str) else None,
        "role": None if mode is None else ROLES.get(mode),
        "model": settings.get("served_model_name") or settings.get("model_path") or None,
        "args_hash": hashlib.sha256(json.dumps(stable, sort_keys=True).encode()).hexdigest()[:16]
        if len(settings) > 20 and "is_generation" not in info
        else None,
        **server_columns(
            {**settings, **{key: first[key] for key in ("effective_max_running_requests_per_dp",) if key in first}}
        ),
        "line": answer.line,
    }
