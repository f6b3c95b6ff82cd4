import io
import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest

from kro_gitops.telemetry.logs import MAX_FIELD_LENGTH, configure
from kube_objects.refs import Kind, ObjectRef

log = logging.getLogger("tests.logs")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """Give the root logger back as it was."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    yield
    root.handlers[:] = before
    root.setLevel(level)
    logging.captureWarnings(capture=False)


def written(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.fixture
def as_json() -> io.StringIO:
    stream = io.StringIO()
    configure("json", "info", stream)
    return stream


@pytest.fixture
def on_console() -> io.StringIO:
    stream = io.StringIO()
    configure("console", "debug", stream)
    return stream


def test_a_record_is_one_json_object_with_time_level_logger_message_and_fields(
    as_json: io.StringIO,
) -> None:
    log.info("applied", extra={"object": "Deployment shop/front", "stage": 3, "dry": False})
    (record,) = written(as_json)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", record.pop("time"))
    assert record == {
        "level": "info",
        "logger": "tests.logs",
        "msg": "applied",
        "object": "Deployment shop/front",
        "stage": 3,
        "dry": False,
    }


def test_times_are_utc_to_the_millisecond(as_json: io.StringIO) -> None:
    record = log.makeRecord("x", logging.INFO, "x.py", 1, "x", (), None)
    record.created = 1772357400.0429
    log.handle(record)
    assert written(as_json)[0]["time"] == "2026-03-01T09:30:00.042Z"


def test_an_error_comes_with_its_traceback(as_json: io.StringIO) -> None:
    try:
        raise ValueError("the words\nof the error")
    except ValueError:
        log.exception("reconcile failed")
    (record,) = written(as_json)
    assert record["level"] == "error"
    assert record["error"] == "ValueError: the words\nof the error"
    assert record["traceback"].startswith("Traceback (most recent call last):\n")


def test_an_error_that_was_put_into_words_keeps_them(as_json: io.StringIO) -> None:
    try:
        raise ValueError("raw")
    except ValueError:
        log.error("failed", exc_info=True, extra={"error": "in our words"})
    assert written(as_json)[0]["error"] == "in our words"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param(ObjectRef(Kind("", "v1", "Pod"), "a", "b"), "Pod a/b", id="any object"),
        pytest.param({"a": [1, None, True]}, {"a": [1, None, True]}, id="JSON"),
        pytest.param({1: (2,)}, {"1": [2]}, id="nearly JSON"),
        pytest.param(2**80, str(2**80), id="a large number"),
        pytest.param(float("nan"), "nan", id="no number"),
        pytest.param("\ud800", "\ud800", id="half a character"),
        pytest.param(
            {"kind": "Secret", "metadata": {"namespace": "a", "name": "b"}, "data": {"c": "d"}},
            "Secret a/b",
            id="a Kubernetes object is named only",
        ),
        pytest.param(
            [{"kind": "Secret", "metadata": {"name": "b"}, "data": {"c": "d"}}],
            ["Secret b"],
            id="so are those in a list",
        ),
    ],
)
def test_values_become_json(as_json: io.StringIO, value: object, shown: object) -> None:
    log.info("x", extra={"value": value})
    assert written(as_json)[0]["value"] == shown


@pytest.mark.parametrize("value", ["x" * 10_000, {"a": ["x"] * 10_000}, list(range(10_000))])
def test_long_values_are_cut(as_json: io.StringIO, value: object) -> None:
    log.info("y" * 10_000, extra={"value": value})
    (record,) = written(as_json)
    assert len(record["value"]) == MAX_FIELD_LENGTH
    assert record["value"].endswith("…")
    assert len(record["msg"]) == MAX_FIELD_LENGTH


def test_of_a_long_traceback_the_end_is_kept(as_json: io.StringIO) -> None:
    try:
        raise ValueError("x" * 100_000 + " the end")
    except ValueError:
        log.exception("failed")
    trace = written(as_json)[0]["traceback"]
    assert trace.endswith("the end")
    assert len(trace) < 30_000


def test_a_field_cannot_pass_for_the_record_itself(as_json: io.StringIO) -> None:
    log.info("true", extra={"level": "none", "time": 0})
    (record,) = written(as_json)
    assert (record["level"], record["field_level"]) == ("info", "none")
    assert record["field_time"] == 0


def test_the_console_shows_time_level_message_and_fields(on_console: io.StringIO) -> None:
    log.warning("not %s", "applied", extra={"object": "Pod a/b", "stage": 3, "list": ["a b"]})
    assert re.fullmatch(
        r'\d\d:\d\d:\d\d\.\d{3} W not applied object="Pod a/b" stage=3 list=\["a b"\]\n',
        on_console.getvalue(),
    )


def test_the_console_shows_a_traceback_below(on_console: io.StringIO) -> None:
    try:
        raise ValueError("x")
    except ValueError:
        log.exception("failed")
    first, second, *_, last = on_console.getvalue().splitlines()
    assert first.endswith(' E failed error="ValueError: x"')
    assert second == "Traceback (most recent call last):"
    assert last == "ValueError: x"


@pytest.mark.parametrize("hostile", ["\x1b[31mred", "two\nlines", "\x9b31m", "\u202eback"])
def test_no_text_steers_the_terminal_or_makes_a_second_line(
    on_console: io.StringIO, hostile: str
) -> None:
    log.info(hostile, extra={"word": hostile, "list": [hostile]})
    (line,) = on_console.getvalue().split("\n")[:-1]
    assert line.isprintable()


@pytest.mark.parametrize(
    ("form", "stream", "first"),
    [
        ("auto", io.StringIO(), "0-9"),
        ("auto", Terminal(), "\x1b"),
        ("console", io.StringIO(), "0-9"),
        ("console", Terminal(), "\x1b"),
        ("json", Terminal(), "{"),
    ],
)
def test_the_form_fits_the_stream(
    form: str, stream: io.StringIO, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    configure(form, "info", stream)
    log.info("x")
    assert re.match(f"[{re.escape(first) if len(first) == 1 else first}]", stream.getvalue())


def test_no_colour_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    configure("auto", "info", stream)
    log.error("x")
    assert "\x1b" not in stream.getvalue()


def test_less_important_records_are_not_written(as_json: io.StringIO) -> None:
    class Untouchable:
        def __str__(self) -> str:
            raise AssertionError("nobody wants to read this")

    log.debug("quiet %s", Untouchable(), extra={"value": Untouchable()})
    assert as_json.getvalue() == ""


def test_configuring_again_replaces_and_leaves_others_alone(as_json: io.StringIO) -> None:
    others = logging.NullHandler()
    logging.getLogger().addHandler(others)
    stream = io.StringIO()
    configure("json", "error", stream)
    log.error("x")
    assert as_json.getvalue() == ""
    assert len(written(stream)) == 1
    assert others in logging.getLogger().handlers


def test_a_record_that_cannot_be_written_does_not_stop_the_program(
    as_json: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken:
        def __str__(self) -> str:
            raise RuntimeError("cannot be shown")

    log.info("x", extra={"value": Broken()})
    log.info("after")
    assert [each["msg"] for each in written(as_json)] == ["after"]
    assert "cannot be shown" in capsys.readouterr().err
