"""
Formats log records: one readable line per record, or JSON for machines.

A message is constant; what varies is given as fields in `extra`. Whole objects are never written:
an object becomes its kind and name, and long texts are cut.
"""

import json
import logging
import math
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TextIO

import orjson

from kube_objects.refs import ObjectRef

MAX_FIELD_LENGTH = 2_000  # characters
MAX_TRACEBACK_LENGTH = 20_000

_RECORD_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_RESERVED = ("time", "level", "logger", "msg", "traceback")
_PLAIN_VALUE = re.compile(r"[^\s\"'=\\]+")
_COLOURS = {"DEBUG": "2", "WARNING": "33", "ERROR": "31", "CRITICAL": "31"}
_DIM = "2"


def configure(form: str, level: str, stream: TextIO) -> logging.Handler:
    """
    Write the records of all loggers to a stream, and return the handler.

    `form` is json, or anything else for readable lines. Called again, it replaces its own handler,
    and keeps other handlers.
    """
    root = logging.getLogger()
    for former in [each for each in root.handlers if isinstance(each, _Handler)]:
        root.removeHandler(former)
    handler = _Handler(stream)
    if form == "json":
        formatter: logging.Formatter = JsonFormatter()
    else:
        formatter = ConsoleFormatter(coloured=stream.isatty() and "NO_COLOR" not in os.environ)
    handler.setFormatter(formatter)
    root.addHandler(handler)
    root.setLevel(level.upper())
    logging.captureWarnings(capture=True)
    return handler


class _Handler(logging.StreamHandler[TextIO]):
    """Our handler; the type distinguishes it from others."""


class JsonFormatter(logging.Formatter):
    """One JSON object for each record, on one line."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record."""
        written: dict[str, object] = {
            "time": _timestamp(record).strftime("%Y-%m-%dT%H:%M:%S.") + f"{_milliseconds(record)}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": _cut(record.getMessage()),
        }
        for key, value in _fields(record):
            # A field must not replace a part of the record itself.
            written[f"field_{key}" if key in _RESERVED else key] = _plain(value)
        trace = _traceback(self, record)
        if trace:
            written["traceback"] = trace
        return _dumps(written)


class ConsoleFormatter(logging.Formatter):
    """A line for each record: time, level, message, fields; a traceback below it."""

    def __init__(self, *, coloured: bool = False) -> None:
        super().__init__()
        self._coloured = coloured

    def format(self, record: logging.LogRecord) -> str:
        """Format a record."""
        moment = _timestamp(record).astimezone()
        clock = f"{moment.strftime('%H:%M:%S')}.{_milliseconds(record)}"
        level = self._paint(record.levelname[0], _COLOURS.get(record.levelname, ""))
        parts = [self._paint(clock, _DIM), level, _visible(_cut(record.getMessage()))]
        parts += [
            f"{self._paint(f'{key}=', _DIM)}{_quote(_plain(value))}"
            for key, value in _fields(record)
        ]
        below = map(_visible, _traceback(self, record).splitlines())
        return "\n".join([" ".join(parts), *below])

    def _paint(self, text: str, colour: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._coloured and colour else text


def _fields(record: logging.LogRecord) -> Iterator[tuple[str, object]]:
    """Yield the fields of a record, then its error."""
    own = {key: value for key, value in vars(record).items() if key not in _RECORD_ATTRIBUTES}
    yield from own.items()
    error = record.exc_info[1] if record.exc_info else None
    if error is not None and "error" not in own:
        yield "error", f"{type(error).__name__}: {error}"


def _plain(value: object) -> object:
    """Convert a value to JSON of bounded size."""
    match value:
        case None | bool():
            return value
        case str():
            return _cut(str(value))
        case int():
            return value if abs(value) < 2**63 else _cut(str(value))
        case float():
            return value if math.isfinite(value) else str(value)
        case dict() if {"kind", "metadata"} <= value.keys():
            return _cut(str(ObjectRef.of(value)))
        case dict() | list() | tuple():
            made: object
            if isinstance(value, dict):
                made = {str(key): _plain(each) for key, each in value.items()}
            else:
                made = [_plain(each) for each in value]
            text = _dumps(made)
            return made if len(text) <= MAX_FIELD_LENGTH else _cut(text)
        case _:
            return _cut(str(value))


def _dumps(value: object) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # half a surrogate pair: the standard library escapes it
        return json.dumps(value)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_FIELD_LENGTH else f"{text[: MAX_FIELD_LENGTH - 1]}…"


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    """Return the traceback of an error; of a long one, the end."""
    if not record.exc_info:
        return ""
    text = formatter.formatException(record.exc_info)
    return text if len(text) <= MAX_TRACEBACK_LENGTH else f"…{text[-MAX_TRACEBACK_LENGTH:]}"


def _timestamp(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)


def _milliseconds(record: logging.LogRecord) -> str:
    return f"{_timestamp(record).microsecond // 1000:03d}"


def _quote(value: object) -> str:
    """Format a value, in quotes if it has blanks."""
    if not isinstance(value, str):
        return _visible(_dumps(value))
    if _PLAIN_VALUE.fullmatch(value):
        return _visible(value)
    return _visible(json.dumps(value, ensure_ascii=False))


def _visible(text: str) -> str:
    """Escape characters that would end the line or control the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
