"""
JSON data → YAML text for people.

Block style, keys in the order given, quotes only where some YAML parser would resolve the plain
scalar to something else: the rules of YAML 1.1, of 1.2 and of Kubernetes' dialect are all
respected, so every parser reads the same data. Strings of several lines become `|` blocks.

A comment can be added at the end of the line on which the value at a path begins.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from kube_objects.problems import Path

_NO_COMMENTS: Mapping[Path, str] = MappingProxyType({})
_INDENT = "  "

# Characters that need no escape in YAML, are no line break to any parser, and do not change the
# direction of text (a reader must see what a parser sees).
_CHARACTERS = (
    " -~\xa0-\u061b\u061d-\u200d\u2010-\u2027\u202f-\u2065\u206a-\ud7ff"
    "\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"
)
_ONE_LINE = re.compile(f"[{_CHARACTERS}]*")
_LINES = re.compile(f"[\t\n{_CHARACTERS}]*")
_TO_ESCAPE = re.compile(f"[^{_CHARACTERS}]")

# Words that some version of YAML reads as a boolean or null, whatever their case.
_WORDS = frozenset(("~", "null", "true", "false", "yes", "no", "on", "off", "y", "n"))
# Everything that some parser reads as a number, a time or a date; quoting too much does no harm.
_NUMBER_LIKE = re.compile(r"[-+]?\.?[0-9][-+0-9a-fx_.,:toz ]*|[-+]?\.(?:inf|nan)", re.IGNORECASE)
_PLAIN_START = re.compile(
    r"[^-.<=\s?:,\[\]{}#&*!|>'\"%@`]"  # no indicator,
    r"|--?(?=[^\s-])|\.(?!\.)|<(?!<)"  # no item or separator, no end of document, no merge key
)
_ENDS_PLAIN = re.compile(r":(?:\s|\Z)|\s#|\s\Z")
_LOOKS_INDENTED = re.compile(r"\n*[ \t]")


def to_yaml(value: Any, comments: Mapping[Path, str] = _NO_COMMENTS) -> str:
    """
    Return JSON data as YAML text, ending with a newline.

    `comments` maps paths to text for the end of their line. Raises `ValueError` for infinity and
    not-a-number.
    """
    lines = _Writer(comments).document(value)
    return "\n".join(lines) + "\n"


class _Writer:
    def __init__(self, comments: Mapping[Path, str]) -> None:
        self._comments = comments

    def document(self, value: Any) -> Iterator[str]:
        if () in self._comments:
            yield self._comment(()).lstrip()
        yield from self._lines(value, ())

    def _lines(self, value: Any, path: Path) -> Iterator[str]:
        """Print a value that has lines of its own."""
        if isinstance(value, dict) and value:
            for key, part in value.items():
                entry_path = (*path, key)
                head = f"{_inline(key)}:"
                comment = self._comment(entry_path)
                if not _has_lines(part):
                    first, *rest = _scalar(part)
                    yield f"{head} {first}{comment}"
                    yield from _indented(rest)
                else:
                    yield f"{head}{comment}"
                    lines = self._lines(part, entry_path)
                    yield from lines if isinstance(part, list) else _indented(lines)
        elif isinstance(value, list) and value:
            for index, part in enumerate(value):
                item_path = (*path, index)
                lines = self._lines(part, item_path)
                yield f"- {next(lines)}{self._comment(item_path)}"
                # The further lines of a text are indented already, from the dash on.
                yield from _indented(lines) if _has_lines(part) else lines
        else:
            head, *rest = _scalar(value)
            yield head
            yield from _indented(rest)

    def _comment(self, path: Path) -> str:
        text = self._comments.get(path)
        if text is None:
            return ""
        return f" # {_TO_ESCAPE.sub('�', ' '.join(text.split()))}"


def _has_lines(value: Any) -> bool:
    return isinstance(value, (dict, list)) and bool(value)


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"{_INDENT}{line}" if line else "" for line in lines)


def _scalar(value: Any) -> list[str]:
    """Return the lines of a value that is not nested; the first one follows its key."""
    match value:
        case None:
            return ["null"]
        case bool():
            return ["true" if value else "false"]
        case int():
            return [str(value)]
        case float():
            if not math.isfinite(value):
                raise ValueError(f"{value} is no JSON number")
            text = repr(value)
            # YAML 1.1 knows a float by its point.
            return [text if "." in text else text.replace("e", ".0e")]
        case str():
            fits_block = "\n" in value and value.strip("\n") and _LINES.fullmatch(value)
            return _block(value) if fits_block else [_inline(value)]
        case _:
            return ["{}" if isinstance(value, dict) else "[]"]


def _block(text: str) -> list[str]:
    # The indentation is seen from the first line with text, so that one must not begin with more.
    indent = str(len(_INDENT)) if _LOOKS_INDENTED.match(text) else ""
    body = text.removesuffix("\n")
    chomp = "-" if body == text else "+" if body.endswith("\n") else ""
    return [f"|{indent}{chomp}", *body.split("\n")]


def _inline(text: str) -> str:
    if (
        _PLAIN_START.match(text) is not None
        and _ENDS_PLAIN.search(text) is None
        and _ONE_LINE.fullmatch(text) is not None
        and _NUMBER_LIKE.fullmatch(text) is None
        and text.lower() not in _WORDS
    ):
        return text
    if ("\\" in text or '"' in text) and _ONE_LINE.fullmatch(text):
        return "'" + text.replace("'", "''") + "'"
    quoted = json.dumps(text, ensure_ascii=False)
    return _TO_ESCAPE.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)
