"""
Functions on strings, counted in code points.

What makes a longer string works out its length first: an expression of a few characters may
ask for more memory than there is.
"""

from typing import Any

from kube_cel.library.dispatch import global_functions, member_functions
from kube_cel.library.formatting import text_of
from kube_cel.values import DeferredError, EvaluationError, check_size, kind_of, no_such_overload
from kube_objects.go_numbers import format_double
from kube_objects.go_text import SHORT_ESCAPES

_SHORT = 32

_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}

# Unicode's white space, which is less than what str.strip() removes.
_BLANKS = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)

_ESCAPES = str.maketrans(
    {**SHORT_ESCAPES, **{chr(half): "\ufffd" for half in range(0xD800, 0xE000)}}
)


def char_at(text: str, index: int) -> str:
    """Return one character; empty just behind the last."""
    _check_index(index, len(text))
    return text[index : index + 1]


def index_of(text: str, part: str, start: int = 0) -> int:
    """Find the first occurrence at or after `start`, or -1."""
    if start < 0:
        raise _out_of_range(start)
    if not part:
        return min(start, len(text))
    return text.find(part, start)


def last_index_of(text: str, part: str) -> int:
    """Find the last occurrence, or -1."""
    return _find_last(text, part, len(text))


def last_index_of_before(text: str, part: str, start: int) -> int:
    """Find the last occurrence that begins at or before `start`, or -1."""
    if start < 0:
        raise _out_of_range(start)
    if not part:
        return min(start, len(text))
    # Beyond the end nothing is found, even if there is something before: so it is in cel-go.
    return _find_last(text, part, start + len(part)) if start < len(text) else -1


def lower_ascii(text: str) -> str:
    """Turn A–Z into small letters and leave all others alone."""
    return text.translate(_LOWER)


def upper_ascii(text: str) -> str:
    """Turn a–z into capitals and leave all others alone."""
    return text.translate(_UPPER)


def replace(text: str, old: str, new: str, limit: int = -1) -> str:
    """Replace the first `limit` occurrences; all if it is negative."""
    growth = len(new) - len(old)
    if growth > 0:
        found = text.count(old)
        check_size(len(text) + growth * (found if limit < 0 else min(found, limit)))
    return text.replace(old, new, max(limit, -1))


def reverse(text: str) -> str:
    """Return the characters from last to first."""
    return text[::-1]


def split(text: str, separator: str, limit: int = -1) -> list[str]:
    """Cut into at most `limit` parts; any number if it is negative."""
    if limit == 0:
        return []
    if not separator:
        check_size(len(text))
        if limit < 0 or limit >= len(text):
            return list(text)
        return [*text[: limit - 1], text[limit - 1 :]]
    check_size(text.count(separator) + 1)
    return text.split(separator, limit - 1 if limit > 0 else -1)


def substring(text: str, start: int) -> str:
    """Return everything from `start` on."""
    _check_index(start, len(text))
    return text[start:]


def substring_between(text: str, start: int, end: int) -> str:
    """Return the characters from `start` up to, not including, `end`."""
    if start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    _check_index(start, len(text))
    _check_index(end, len(text))
    return text[start:end]


def trim(text: str) -> str:
    """Remove blanks at both ends."""
    return text.strip(_BLANKS)


def quote(text: str) -> str:
    """Make a CEL string literal that means `text`."""
    check_size(2 * len(text))
    return f'"{text.translate(_ESCAPES)}"'


def join(parts: Any, *separators: str) -> str:
    """Put strings together, with a separator between them if one is given."""
    texts = list(parts)
    for position, part in enumerate(texts):
        if type(part) is not str:
            if position == 0 and type(part) is not DeferredError:
                # By its first element a list is one of strings, or it is not: as in cel-go.
                raise no_such_overload("join", parts, *separators)
            raise EvaluationError(f"join: invalid input: {_shown(part)}")
    separator = separators[0] if separators else ""
    check_size(sum(map(len, texts)) + len(separator) * max(len(texts) - 1, 0))
    return separator.join(texts)


def _find_last(text: str, part: str, end: int) -> int:
    """Find the last occurrence that ends at or before `end`, or -1."""
    if len(part) <= _SHORT:
        return text.rfind(part, 0, end)
    # From the end Python searches in quadratic time, from the start it does not.
    backwards = text[:end][::-1]
    found = backwards.find(part[::-1])
    return -1 if found < 0 else len(backwards) - found - len(part)


def _shown(part: Any) -> str:
    """Print a value as Go's `%v` does, where that is not what `%s` of CEL does."""
    if type(part) is float:
        return format_double(part)
    if type(part) is bytes:
        return f"[{' '.join(map(str, part))}]"
    if type(part) is DeferredError:
        return part.error.message
    try:
        return text_of(part)
    except EvaluationError:  # which cannot print the values of libraries
        return kind_of(part)


def _check_index(index: int, size: int) -> None:
    if not 0 <= index <= size:
        raise _out_of_range(index)


def _out_of_range(index: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {index}")


GLOBALS = global_functions({"strings.quote(string)": quote})

MEMBERS = member_functions(
    {
        "charAt(string, int)": char_at,
        "indexOf(string, string)": index_of,
        "indexOf(string, string, int)": index_of,
        "lastIndexOf(string, string)": last_index_of,
        "lastIndexOf(string, string, int)": last_index_of_before,
        "lowerAscii(string)": lower_ascii,
        "upperAscii(string)": upper_ascii,
        "replace(string, string, string)": replace,
        "replace(string, string, string, int)": replace,
        "reverse(string)": reverse,
        "split(string, string)": split,
        "split(string, string, int)": split,
        "substring(string, int)": substring,
        "substring(string, int, int)": substring_between,
        "trim(string)": trim,
        "join(list)": join,
        "join(list, string)": join,
    }
)
