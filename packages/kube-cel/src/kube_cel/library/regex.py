"""
Regular expressions, in linear time.

Patterns are the user's and never reach Python's `re`, which can be made to run for years:
RE2 finds what Go finds, and its complaints are put into Go's words.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NoReturn

import re2

from kube_cel.library.dispatch import member_functions
from kube_cel.library.operators import overload_error
from kube_cel.library.standard import ANY
from kube_cel.values import EvaluationError, EvaluationStopped, no_such_overload
from kube_objects import go_text

MAX_MATCHES = 100_000

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False

# Messages of RE2 and of Go; both then quote the part of the pattern.
_GO_MESSAGES = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "trailing \\": "trailing backslash at end of expression",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "pattern too large - compile failed": "expression too large",
}
_LOOK_BEHIND = ("(?<=", "(?<!")

# RE2 would match half a character here; Go has no such thing.
_ONE_BYTE: Final = re.compile(r"(?<!\\)(?:\\\\)*\\C")


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Any:
    """Compile a pattern; raises `EvaluationError` with Go's message."""
    if _ONE_BYTE.search(pattern):
        raise _invalid_pattern(r"invalid escape sequence: `\C`")
    try:
        return re2.compile(go_text.encode(pattern).decode(), _OPTIONS)
    except re2.error as error:
        complaint = error.args[0]
        said = complaint.decode(errors="replace") if isinstance(complaint, bytes) else complaint
        reason, _, part = said.partition(": ")
        if part in _LOOK_BEHIND:
            # Go takes it for a group whose name does not end, or is none.
            rest = pattern[pattern.index(part) :]
            name, end, _ = rest.partition(">")
            go_message = f"invalid named capture: `{name}{end}`"
        else:
            if reason.startswith("pattern too large"):
                part = pattern
            go_message = f"{_GO_MESSAGES.get(reason, reason)}: `{part}`"
        raise _invalid_pattern(go_message) from None


def matches(text: Any, pattern: Any) -> bool:
    """Return whether the pattern is found anywhere in the text."""
    if type(text) is not str or type(pattern) is not str:
        raise overload_error("matches", type(text))
    return compile_pattern(pattern).search(go_text.encode(text)) is not None


def find(text: str, pattern: str) -> str:
    """Return the first match, empty if there is none."""
    match = _compile_argument(pattern).search(go_text.encode(text))
    return go_text.decode(match.group()) if match else ""


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """Return the first `limit` matches; all if it is negative."""
    # Bytes are searched, in a third of the time; so an empty match may lie within a character.
    # It does not count then, and neither does one right behind another match.
    raw = go_text.encode(text)
    found: list[str] = []
    last = -1
    for count, match in enumerate(_compile_argument(pattern).finditer(raw)):
        if len(found) == limit:
            break
        if count == MAX_MATCHES:
            raise EvaluationStopped(f"more than {MAX_MATCHES} matches of a pattern")
        start, end = match.span()
        if start < end or (start != last and not (start < len(raw) and raw[start] & 0xC0 == 0x80)):
            found.append(go_text.decode(raw[start:end]))
        last = end
    return found


def _compile_argument(pattern: str) -> Any:
    try:
        return compile_pattern(pattern)
    except EvaluationError as error:
        raise EvaluationError(f"Illegal regex: {error.message}") from None


def _invalid_pattern(reason: str) -> EvaluationError:
    return EvaluationError(f"error parsing regexp: {reason}")


def _no_text(*_: Any) -> NoReturn:
    raise no_such_overload()


GLOBALS: Mapping[str, Callable[..., Any]] = {"matches": matches}

MEMBERS: Mapping[tuple[str, str], Callable[..., Any]] = {
    **member_functions(
        {
            "find(string, string)": find,
            "findAll(string, string)": find_all,
            "findAll(string, string, int)": find_all,
        }
    ),
    ("matches", ANY): matches,
    ("find", ANY): _no_text,
    ("findAll", ANY): _no_text,
}
