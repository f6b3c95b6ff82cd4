"""
JSON data → YAML text that people like to read.

Block style, keys in the order given, quotes only where some YAML parser would take the word for
something else: the rules of YAML 1.1, of 1.2 and of Kubernetes' dialect are all respected, so
the text means the same to every parser. Texts of several lines become `|` blocks.

A comment can be put at the end of the line on which the value at a path begins.
"""

import json
import math
import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from kube_objects.problems import Path

_NO_COMMENTS: Mapping[Path, str] = MappingProxyType({})
_INDENT = "  "
_MAX_CACHED = 128  # characters

# What may stand in YAML as itself, is no line break to any parser, and does not turn the
# direction of the text around it (a reader must see what a parser sees).
_CHARACTERS = (
    " -~\xa0-\u061b\u061d-\u200d\u2010-\u2027\u202f-\u2065\u206a-\ud7ff"
    "\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"
)
_TO_ESCAPE = re.compile(f"[^{_CHARACTERS}]")
_BREAKS = {ord("\t"): None, ord("\n"): None}

# Words that some version of YAML reads as a boolean or null, whatever their case.
_WORDS = frozenset(("~", "null", "true", "false", "yes", "no", "on", "off", "y", "n"))
# Texts that some parser may read as a number, a time or a date. Quoting too many does no harm.
_NUMBER_LIKE = re.compile(r"[-+]?\.?[0-9][-+0-9a-fx_.,:toz ]*|[-+]?\.(?:inf|nan)", re.IGNORECASE)
_PLAIN_START = re.compile(
    r"[^-.<=\s?:,\[\]{}#&*!|>'\"%@`]"  # no indicator,
    r"|--?(?=[^\s-])|\.(?!\.)|<(?!<)"  # no item or separator, no end of document, no merge key
)
_ENDS_PLAIN = re.compile(r":(?:\s|\Z)|\s#|\s\Z")
_LOOKS_INDENTED = re.compile(r"\n*[ \t]")


def to_yaml(value: Any, comments: Mapping[Path, str] = _NO_COMMENTS) -> str:
    """Print JSON data as YAML; raise `ValueError` for numbers that JSON does not know."""
    writer = _Writer(comments)
    if () in comments:
        writer.lines.append(writer.comment(()).lstrip())
    writer.write(value, (), "", "")
    writer.lines.append("")
    return "\n".join(writer.lines)


class _Writer:
    def __init__(self, comments: Mapping[Path, str]) -> None:
        self.lines: list[str] = []
        self._comments = comments

    def write(self, value: Any, path: Path, indent: str, lead: str) -> None:
        """Print a value; its first line begins with `lead`, the others with `indent`."""
        if isinstance(value, dict) and value:
            for key, part in value.items():
                at = (*path, key)
                comment = self.comment(at) if at in self._comments else ""
                head = f"{lead}{_inline(key)}:"
                if isinstance(part, (dict, list)) and part:
                    self.lines.append(head + comment)
                    # Items of a list stand below their key, not indented.
                    below = indent + _INDENT if isinstance(part, dict) else indent
                    self.write(part, at, below, below)
                else:
                    self._write_scalar(part, f"{head} ", comment, indent + _INDENT)
                lead = indent
        elif isinstance(value, list) and value:
            for index, part in enumerate(value):
                at, first = (*path, index), len(self.lines)
                self.write(part, at, indent + _INDENT, f"{lead}- ")
                if at in self._comments:
                    self.lines[first] += self.comment(at)
                lead = indent
        else:
            self._write_scalar(value, lead, "", indent or _INDENT)

    def _write_scalar(self, value: Any, lead: str, comment: str, indent: str) -> None:
        if type(value) is str and "\n" not in value:
            self.lines.append(f"{lead}{_inline(value)}{comment}")
            return
        first, *rest = _scalar(value)
        self.lines.append(f"{lead}{first}{comment}")
        self.lines += [indent + line if line else "" for line in rest]

    def comment(self, path: Path) -> str:
        """Return the comment of a path, as it stands at the end of a line."""
        return f" # {_TO_ESCAPE.sub('�', ' '.join(self._comments[path].split()))}"


def _scalar(value: Any) -> list[str]:
    """Print a value that has no lines of its own: what stands behind the key, and the rest."""
    match value:
        case None:
            return ["null"]
        case bool():
            return ["true" if value else "false"]
        case int():
            return [str(value)]
        case float():
            return [_float(value)]
        case str():
            return _block(value) if _fits_block(value) else [_inline(value)]
        case _:
            return ["{}" if isinstance(value, dict) else "[]"]


def _float(value: float) -> str:
    """Write a float so that YAML 1.1 reads a float again, never an integer."""
    if not math.isfinite(value):
        raise ValueError(f"{value} is no JSON number")
    text = repr(value)
    # YAML 1.1 knows a float by its point.
    return text if "." in text else text.replace("e", ".0e")


def _fits_block(text: str) -> bool:
    if "\n" not in text or not text.strip("\n"):
        return False
    return _TO_ESCAPE.search(text.translate(_BREAKS)) is None


def _block(text: str) -> list[str]:
    """Write a text of several lines as a literal block, with its indicators."""
    # The indentation is seen from the first line with text, so that one must not begin with more.
    indent = str(len(_INDENT)) if _LOOKS_INDENTED.match(text) else ""
    body = text.removesuffix("\n")
    chomp = "-" if body == text else "+" if body.endswith("\n") else ""
    return [f"|{indent}{chomp}", *body.split("\n")]


def _inline(text: str) -> str:
    return _short(text) if len(text) <= _MAX_CACHED else _one_line(text)


@lru_cache(maxsize=8192)
def _short(text: str) -> str:
    """Print a key or a short text: the same ones come up again and again."""
    return _one_line(text)


def _one_line(text: str) -> str:
    if _is_plain(text):
        return text
    if ("\\" in text or '"' in text) and not _TO_ESCAPE.search(text):
        return "'" + text.replace("'", "''") + "'"
    quoted = json.dumps(text, ensure_ascii=False)
    return _TO_ESCAPE.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def _is_plain(text: str) -> bool:
    return (
        _PLAIN_START.match(text) is not None
        and _ENDS_PLAIN.search(text) is None
        and not _TO_ESCAPE.search(text)
        and _NUMBER_LIKE.fullmatch(text) is None
        and text.lower() not in _WORDS
    )
