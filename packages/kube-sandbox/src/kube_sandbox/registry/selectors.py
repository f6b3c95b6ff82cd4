"""
Label and field selectors as requests write them: `app in (a,b),!old`, `status.phase!=Running`.

Which fields can be asked for is the kind's, as data below. Names and namespaces are answered from
what the store knows of an object; only other fields need the object itself, and it is asked for
when they are met.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/labels/selector.go Parse, Parser.parseRequirement;
k8s.io/apimachinery/pkg/fields/selector.go ParseSelector, UnescapeValue.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kube_objects.go_text import quote
from kube_objects.label_selectors import Operator, Requirement, Selector
from kube_objects.refs import Kind, KubeObject
from kube_sandbox.api_errors import bad_request
from kube_sandbox.registry import name_validation
from kube_sandbox.registry.field_errors import invalid as invalid_field
from kube_sandbox.registry.selectable_fields import CustomFields, Reader, fields_of

_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^ \t\r\n=!(),<>]+))")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_END = ""
_OPERATORS = "in, notin, =, ==, !=, gt, lt"


class _UnreadableError(ValueError):
    """A requirement cannot be read."""


@dataclass(frozen=True, slots=True)
class Comparison(Requirement):
    """A label whose value is a whole number, greater or less than another."""

    bound: int = 0
    is_greater: bool = True

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether labels meet it."""
        value = labels.get(self.key, "")
        if not _INTEGER.fullmatch(value):
            return False
        return int(value) > self.bound if self.is_greater else int(value) < self.bound


def parse_labels(text: str) -> Selector:
    """Read a label selector; reject one that cannot be read, in the API server's words."""
    try:
        found = _LabelParser(text).requirements()
    except _UnreadableError as error:
        raise bad_request(str(error)) from None
    return Selector(tuple(sorted(found, key=lambda each: each.key)))


def _tokens(text: str) -> list[tuple[bool, str]]:
    """Split a selector; each token with whether it is a word."""
    # The API server's lexer reads a NUL as the end.
    text = text.partition("\0")[0]
    found = []
    at = 0
    while match := _TOKEN.match(text, at):
        found.append((match[2] is not None, match[1] or match[2]))
        at = match.end()
    return found


class _LabelParser:
    """Reads requirements from tokens; a word may be `in` where a key or value stands."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        while True:
            is_word, token = self._peek()
            if token == _END:
                return found
            if not is_word and token != "!":
                raise _UnreadableError(
                    f"found '{token}', expected: !, identifier, or 'end of string'"
                )
            try:
                requirement_is_word, key = self._next()
                denied = key == "!" and not requirement_is_word
                if denied:
                    requirement_is_word, key = self._next()
                if not requirement_is_word:
                    raise _UnreadableError(f"found '{key}', expected: identifier")
                complaints = name_validation.qualified_name(key)
                if complaints:
                    raise _UnreadableError(str(invalid_field("<nil>", key, "; ".join(complaints))))
                if denied:
                    requirement: Requirement = Requirement(key, Operator.DOES_NOT_EXIST)
                elif self._peek() in ((False, _END), (False, ",")):
                    requirement = Requirement(key, Operator.EXISTS)
                else:
                    requirement = self._compared(key)
                found.append(requirement)
            except _UnreadableError as error:
                raise _UnreadableError(f"unable to parse requirement: {error}") from None
            _, token = self._next()
            if token == _END:
                return found
            if token != ",":
                raise _UnreadableError(f"found '{token}', expected: ',' or 'end of string'")
            is_word, token = self._peek()
            if not is_word and token != "!":
                raise _UnreadableError(f"found '{token}', expected: identifier after ','")

    def _peek(self) -> tuple[bool, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else (False, _END)

    def _next(self) -> tuple[bool, str]:
        found = self._peek()
        self._at += 1
        return found

    def _compared(self, key: str) -> Requirement:
        is_word, token = self._next()
        if is_word and token in ("in", "notin"):
            values_is_word, values_token = self._next()
            if values_is_word or values_token != "(":
                raise _UnreadableError(f"found '{values_token}' expected: '('")
            values_is_word, values_token = self._peek()
            if (values_is_word, values_token) == (False, ")"):
                self._next()
                values: tuple[str, ...] = ("",)
            else:
                if not values_is_word and values_token != ",":
                    raise _UnreadableError(
                        f"found '{values_token}', expected: ',', ')' or identifier"
                    )
                found = self._listed()
                self._next()
                values = tuple(sorted(found))
            _validate_values(key, values)
            return Requirement(key, Operator.IN if token == "in" else Operator.NOT_IN, values)
        if is_word or token not in ("=", "==", "!=", "<", ">"):
            raise _UnreadableError(f"found '{token}', expected: {_OPERATORS}")
        if self._peek() in ((False, _END), (False, ",")):
            value = ""
        else:
            is_word, value = self._next()
            if not is_word:
                raise _UnreadableError(f"found '{value}', expected: identifier")
        if token in "<>":
            is_number = _INTEGER.fullmatch(value) and -(2**63) <= int(value) < 2**63
            if not is_number:
                text = "for 'Gt', 'Lt' operators, the value must be an integer"
                _validate_values(key, (value,), [str(invalid_field("values[0]", value, text))])
            _validate_values(key, (value,))
            return Comparison(key, Operator.EXISTS, (value,), int(value), token == ">")
        _validate_values(key, (value,))
        return Requirement(key, Operator.NOT_IN if token == "!=" else Operator.IN, (value,))

    def _listed(self) -> set[str]:
        """Read values up to the closing parenthesis; between two commas there is an empty one."""
        found: set[str] = set()
        while True:
            is_word, token = self._next()
            after = self._peek()
            if is_word:
                found.add(token)
                if after == (False, ")"):
                    return found
                if after != (False, ","):
                    raise _UnreadableError(f"found '{after[1]}', expected: ',' or ')'")
            elif token == ",":
                if not found or after in ((False, ")"), (False, ",")):
                    found.add("")
                if after == (False, ")"):
                    return found
            else:
                raise _UnreadableError(f"found '{token}', expected: ',', or identifier")


def _validate_values(key: str, values: Iterable[str], said: Sequence[str] = ()) -> None:
    found = [*said]
    for index, value in enumerate(values):
        if complaints := name_validation.label_value(value):
            field = f"values[{index}][{key}]"
            found.append(str(invalid_field(field, value, "; ".join(complaints))))
    if found:
        message = list(dict.fromkeys(found))
        raise _UnreadableError(message[0] if len(message) == 1 else f"[{', '.join(message)}]")


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One thing that is asked of a field."""

    field: str
    value: str
    is_equal: bool = True


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """Everything that is asked of the fields, all at once."""

    requirements: tuple[FieldRequirement, ...] = ()
    readers: Mapping[str, Reader] | None = None

    @property
    def name(self) -> str | None:
        """Return the one name that objects may have, if only one is asked for."""
        for each in self.requirements:
            if each.field == "metadata.name" and each.is_equal:
                return each.value
        return None

    def matches(self, namespace: str, name: str, obj: Callable[[], KubeObject]) -> bool:
        """Return whether an object meets every requirement; `obj` is called if it must be seen."""
        known = {"metadata.name": name, "metadata.namespace": namespace}
        found: KubeObject | None = None
        for each in self.requirements:
            value = known.get(each.field)
            if value is None:
                found = obj() if found is None else found
                reader = (self.readers or {}).get(each.field)
                value = reader(found) if reader else ""
            if (value == each.value) is not each.is_equal:
                return False
        return True


def parse_fields(text: str, kind: Kind, *, custom: CustomFields | None = None) -> FieldSelector:
    """Read a field selector for a kind; reject one that is malformed or not supported by it."""
    fields = custom.fields() if custom else fields_of(kind)
    found = []
    for part in sorted(filter(None, _split_terms(text))):
        match = re.search("!=|==|=", part)
        if match is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        field, value = part[: match.start()], _unescape(part[match.end() :])
        is_metadata = field == "metadata.name" or (
            field == "metadata.namespace" and fields.has_namespace
        )
        if not is_metadata and field not in fields.readers:
            values = {"field": field, "quoted": quote(field), "version": kind.api_version}
            raise bad_request(fields.refusal.format(**values))
        found.append(FieldRequirement(field, value, match.group() != "!="))
    return FieldSelector(tuple(found), fields.readers)


def _split_terms(text: str) -> list[str]:
    """Split at commas that no backslash stands before."""
    found, start, escaped = [], 0, False
    for at, char in enumerate(text):
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == ",":
            found.append(text[start:at])
            start = at + 1
    return [*found, text[start:]]


def _unescape(value: str) -> str:
    found, escaped = "", False
    for char in value:
        if escaped and char not in "\\,=":
            raise _bad_escape(f"\\{char}")
        if not escaped and char in ",=":
            message = f"invalid field selector: unescaped character in value: {ord(char)}"
            raise bad_request(message)
        escaped, plain = (not escaped and char == "\\"), escaped or char != "\\"
        found += char if plain else ""
    if escaped:
        raise _bad_escape("\\")
    return found


def _bad_escape(sequence: str) -> Exception:
    return bad_request(f"invalid field selector: invalid escape sequence: {sequence}")
