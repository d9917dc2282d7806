import pytest

from ridgeline.words.flags import SIGNALS, SWITCHES, how_to_get, switches


def test_every_signal_has_an_answer_for_every_release() -> None:
    for signal in SIGNALS:
        engines = {switch.engine for switch in SWITCHES if switch.signal == signal}
        for engine in engines:
            for version in (None, "0.4.6.post5", "0.5.9", "0.5.23"):
                assert how_to_get(signal, version, engine)


@pytest.mark.parametrize(
    ("signal", "version", "part"),
    [
        ("loads", "0.5.23", "/v1/loads"),
        ("loads", "0.5.6", "/get_load"),
        ("loads", "0.4.6.post5", "no load endpoint"),
        ("server-info", "0.5.3", "/get_server_info"),
        ("server-info", "0.5.23", "GET /server_info"),
        ("request-log", "0.5.23", "--log-requests-format json"),
        ("request-log", "0.5.6", "--log-requests --log-requests-level 1"),
        ("traces", "0.5.3", "--oltp-traces-endpoint"),
        ("traces", "0.5.9", "--otlp-traces-endpoint"),
        ("gpu-time", "0.5.23", "needs a restart"),
        ("gpu-time", "0.5.9", "not available in sglang 0.5.9"),
        ("forward-passes", "0.5.3", "not available"),
    ],
)
def test_the_way_fits_the_version(signal: str, version: str, part: str) -> None:
    assert part in how_to_get(signal, version)


def test_json_request_log_is_never_advised_where_it_does_not_exist() -> None:
    assert "json" not in how_to_get("request-log", "0.5.6")


def test_writes_carry_a_caution() -> None:
    for switch in SWITCHES:
        if switch.how.startswith("POST"):
            assert switch.caution, switch.how


def test_an_unknown_signal_is_an_error() -> None:
    with pytest.raises(KeyError, match="no signal"):
        switches("telepathy")
