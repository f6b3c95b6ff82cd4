"""
The CEL project's C++ engine behind JSON lines; runs in an interpreter of its own.

Every line of standard input is an expression, as a JSON string; every line of standard output
is the answer to one: `{"type": …, "value": …}` with the value in the form of `normal`, or
`{"error": …}` when it failed to run, or `{"refused": …}` when it did not compile. Each answer
is written before the next expression is read: if the engine takes the process down, the
number of answers tells by which expression.
"""

import json
import re
import sys
from collections.abc import Callable
from typing import Any

from cel_expr_python import cel  # type: ignore[import-not-found]  # installed elsewhere

_EXTENSIONS = ("optional", "strings", "lists", "encoders", "bindings", "two-var-comprehensions")
_KINDS = {"NULL": "null_type", "TIMESTAMP": "google.protobuf.Timestamp"}
_KINDS["DURATION"] = "google.protobuf.Duration"
_TYPE_WORD = re.compile(r"[A-Z]{3,}")

_NANOSECONDS = {"h": 3_600_000_000_000, "m": 60_000_000_000, "s": 1_000_000_000}
_NANOSECONDS |= {"ms": 1_000_000, "us": 1_000, "ns": 1}
_TIME = re.compile(r"(-?\d+)-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?Z")


def environment() -> Any:
    """Make an environment with the extensions that kro has on, too."""
    listed = "".join(f"  - name: {name}\n    version: latest\n" for name in _EXTENSIONS)
    return cel.NewEnv(config=cel.NewEnvConfigFromYaml(f"name: opinion\nextensions:\n{listed}"))


def answer(env: Any, text: str) -> dict[str, Any]:
    """Compile and evaluate one expression."""
    try:
        compiled = env.compile(text)
    except RuntimeError as error:
        return {"refused": str(error)}
    found = _printed(str(compiled.return_type()))
    is_optional = found.startswith("optional_type")
    if is_optional:  # an optional cannot leave the engine; a list of what it holds can
        compiled = env.compile(f"[?({text})]")
    try:
        result = compiled.eval(data={})
        if str(result.type()) == "ERROR" and not _is_optional(result):
            return {"error": repr(result)}
        value = normal_form(result)
    except RuntimeError as error:
        return {"error": str(error)}
    return {"type": found, "value": ["optional_type", value[1]] if is_optional else value}


def _is_optional(value: Any) -> bool:
    """Tell an optional from an error, which it claims to be."""
    return str(value.type()) == "ERROR" and repr(value).startswith("optional.")


def _printed(found: str) -> str:
    """Print a type as cel-go does: LIST<INT> is list(int)."""
    lower = _TYPE_WORD.sub(lambda word: _KINDS.get(word[0], word[0].lower()), found)
    return lower.replace("<", "(").replace(">", ")")


def normal_form(value: Any) -> list[Any]:
    """Bring a value into the common form."""
    kind = str(value.type()).partition("<")[0]
    if _is_optional(value):
        return ["optional_type", repr(value) != "optional.none()"]
    if kind == "ERROR":
        raise ValueError(f"an error inside a value: {value!r}")
    return _FORMS.get(kind, _scalar)(value, _KINDS.get(kind, kind.lower()))


def _scalar(value: Any, kind: str) -> list[Any]:
    return [kind, value.value()]


def _list(value: Any, kind: str) -> list[Any]:
    return [kind, [normal_form(element) for element in value.value()]]


def _map(value: Any, kind: str) -> list[Any]:
    entries = [[_key(key), normal_form(child)] for key, child in value.value().items()]
    return [kind, sorted(entries, key=json.dumps)]


def _key(key: Any) -> list[Any]:
    if isinstance(key, float):
        return ["double", repr(key)]
    kinds = {bool: "bool", int: "int", str: "string"}
    return [kinds[type(key)], key]


def _timestamp(value: Any, kind: str) -> list[Any]:
    # Python's datetime would round to microseconds and knows only some years.
    matched = _TIME.fullmatch(repr(value))
    if matched is None:
        raise ValueError(f"not a time: {value!r}")
    year, month, day, hours, minutes, seconds = map(int, matched.groups()[:6])
    nanos = int((matched[7] or "0").ljust(9, "0"))
    total = ((_days(year, month, day) * 24 + hours) * 60 + minutes) * 60 + seconds
    return [kind, total * 1_000_000_000 + nanos]


def _days(year: int, month: int, day: int) -> int:
    """Count days since 1970 in the Gregorian calendar."""
    year, month = (year, month - 3) if month > 2 else (year - 1, month + 9)
    leap_days = year // 4 - year // 100 + year // 400
    return 365 * year + leap_days + (153 * month + 2) // 5 + day - 1 - 719_468


def _duration(value: Any, kind: str) -> list[Any]:
    text = repr(value)
    total = 0
    for count, fraction, unit in re.findall(r"(\d+)(?:\.(\d+))?(h|ms|us|ns|m|s)", text):
        whole = _NANOSECONDS[unit]
        total += int(count) * whole + int(fraction or 0) * whole // 10 ** len(fraction)
    return [kind, -total if text.startswith("-") else total]


_FORMS: dict[str, Callable[[Any, str], list[Any]]] = {
    "LIST": _list,
    "MAP": _map,
    "TIMESTAMP": _timestamp,
    "DURATION": _duration,
    "DOUBLE": lambda value, kind: [kind, repr(value.value())],
    "BYTES": lambda value, kind: [kind, bytes(value.value()).hex()],
    "TYPE": lambda value, kind: [kind, re.sub(r"<.*", "", repr(value))],
}


def main() -> None:
    """Answer every line."""
    env = environment()
    for line in sys.stdin:
        try:
            answered = answer(env, json.loads(line))
        except Exception as error:  # its bindings raise all sorts
            answered = {"unreadable": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(answered) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
