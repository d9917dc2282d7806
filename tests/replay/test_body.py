"""Bodies: exact ids natively, the same request in OpenAI's words, nothing sent that a dump should not carry."""

import json
from pathlib import Path

import pytest

from ridgeline.model.errors import InputError
from ridgeline.replay.body import Manner, body_of, encoded, path_of
from ridgeline.replay.from_dump import load_dumps
from ridgeline.replay.shot import Drawn, Shot
from tests.replay.dumps import finished, request, write_dump

SHOT = Shot(0.0, "r1", text="hello", ids=(5, 6), sampling={"max_new_tokens": 9, "temperature": 0.0, "stop": None,
            "sampling_seed": 3, "json_schema": '{"type": "object"}'}, fields={"priority": 2})  # fmt: skip


def test_native() -> None:
    body = body_of(SHOT, Manner(prefix="p-"))
    assert body["rid"] == "p-r1" and body["input_ids"] == [5, 6] and "text" not in body
    assert body["sampling_params"]["stop"] is None and body["priority"] == 2 and body["stream"] is True


def test_openai() -> None:
    chat = body_of(SHOT, Manner("chat", model="tiny"))
    assert chat["messages"] == [{"role": "user", "content": "hello"}] and chat["max_tokens"] == 9 and chat["seed"] == 3
    assert chat["response_format"]["json_schema"]["schema"] == {"type": "object"} and "stop" not in chat
    assert chat["stream_options"] == {"include_usage": True} and chat["model"] == "tiny"
    assert body_of(SHOT, Manner("completions"))["prompt"] == [5, 6]
    assert path_of(SHOT, Manner("completions")) == "/v1/completions"
    with pytest.raises(InputError, match="--as generate"):
        body_of(Shot(0.0, "r", ids=(1,)), Manner("chat"))


def test_drawn_prompts_have_the_exact_length_where_ids_are_taken() -> None:
    shot = Shot(0.0, "r", drawn=Drawn(1, 33))
    assert len(body_of(shot, Manner())["input_ids"]) == 33
    assert len(body_of(shot, Manner("completions"))["prompt"]) == 33
    assert len(body_of(shot, Manner("chat"))["messages"][0]["content"].split()) == 33


def test_dropped_and_odd_values() -> None:
    assert "sampling_seed" not in body_of(SHOT, Manner(drop=frozenset({"sampling_seed"})))["sampling_params"]
    odd = Shot(0.0, "r", text="\ud800 lone", sampling={"seed": 1 << 80})
    assert json.loads(encoded(odd, Manner()))["sampling_params"]["seed"] == 1 << 80


def test_a_dump_gives_what_may_be_sent(tmp_path: Path) -> None:
    entries = [
        (request("a", "hi", [1, 2, 3], lora_path="adapter", return_logprob=True), finished("a", 3, [7], " w7"), 2.0),
        (request("b", "hi", custom_logit_processor="code", bootstrap_room=7), finished("b", 1, [7], " w7"), 1.0),
        (request("c", "look", image_data="http://elsewhere/cat.png"), finished("c", 1, [7], " w7"), 3.0),
        (request("d", "look", image_data="data:image/png;base64,aaaa"), {}, 4.0),
        (request("e", None, None), finished("e", 1, [7], " w7"), 5.0),
    ]  # fmt: skip
    load = load_dumps([write_dump(tmp_path / "d.pkl", entries, crash_s=9.0)])
    assert [(s.rid, s.at_s) for s in load.shots] == [("b", 0.0), ("a", 1.0), ("d", 3.0)]
    b, a, d = load.shots
    assert a.ids == (1, 2, 3) and dict(a.fields or {}) == {"lora_path": "adapter", "return_logprob": True}
    assert b.fields == {} and a.greedy
    assert d.unfinished and d.recorded is None and a.recorded is not None and a.recorded.output_ids == (7,)
    said = " ".join(load.notes)
    assert "custom_logit_processor" in said and "1 requests are not sent: their images" in said
    assert "neither their text nor their token ids" in said


@pytest.mark.shared
def test_real_dumps_can_be_sent_wholly(shared_dir: Path) -> None:
    real = shared_dir / "real"
    crash = load_dumps(sorted((real / "sglang_0.5.23/single_full/crash").rglob("*.pkl.gz")))
    assert len(crash.shots) == 189 and sum(s.unfinished for s in crash.shots) == 13
    assert all(len(encoded(s, Manner())) > 20 for s in crash.shots)
    assert all(b.at_s >= a.at_s for a, b in zip(crash.shots, crash.shots[1:], strict=False))
    older = load_dumps(sorted((real / "sglang_0.5.9").rglob("crash_dump*.pkl.gz"))[:1])
    assert older.shots and all(s.ids and s.greedy and s.recorded for s in older.shots if not s.unfinished)


def test_a_batch_and_an_embedding() -> None:
    batch = Shot(0.0, "b", fields={"rid": ["a", "b"], "text": ["x", "y"], "sampling_params": [{"n": 1}, {"n": 1}]})
    body = body_of(batch, Manner(prefix="p-"))
    assert body["rid"] == ["p-a", "p-b"] and body["text"] == ["x", "y"] and len(body["sampling_params"]) == 2
    embedding = Shot(0.0, "e", text="x", endpoint="/encode", sampling={})
    assert (
        body_of(embedding, Manner("chat")) == {"rid": "e", "text": "x"}
        and path_of(embedding, Manner("chat")) == "/encode"
    )
