"""
The text of files without the values of Secrets, for excerpts in messages.

Values of Secrets stand in Secrets, in templates of Secrets, and in the fields of instances that a
definition writes into a Secret. Text that cannot be parsed may be any of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kro_gitops.engine.graph.confidential import literals_of
from kro_gitops.metadata import LAST_APPLIED
from kro_gitops.preview.repository import CompiledDefinition
from kube_cel.interpolation import scan
from kube_objects.documents import Document, load
from kube_objects.positions import SourceText, Span
from kube_objects.problems import Path, Spot
from kube_objects.refs import KubeObject

HIDDEN = "(hidden)"

_SECRET = "Secret"
# Everything else may hold values under a key that is misspelt.
_HARMLESS = frozenset(("apiVersion", "kind", "metadata", "type", "immutable"))
_ALL_FIELDS: frozenset[Path] = frozenset((("spec",),))
_LAST_APPLIED = ("metadata", "annotations", LAST_APPLIED)


SecretFields = Mapping[str, frozenset[Path]]  # by the kind's name; its group may be misspelt


def secret_fields_of(definitions: Iterable[CompiledDefinition]) -> SecretFields:
    """Return which fields of instances become data of a Secret: any, if it is not known."""
    found: dict[str, frozenset[Path]] = {}
    for each in definitions:
        if each.graph is not None:
            found[each.graph.served.kind.kind] = each.graph.secret_fields
        elif _may_write_secret(each.manifest.object):
            found[str(_at(each.manifest.object, ("spec", "schema", "kind")))] = _ALL_FIELDS
    return {kind: fields for kind, fields in found.items() if fields}


def _may_write_secret(definition: KubeObject) -> bool:
    resources = _at(definition, ("spec", "resources"))
    return isinstance(resources, list) and any(
        _at(each, ("template", "kind")) == _SECRET for each in resources
    )


def without_secrets(text: str, file: str, secret_fields: SecretFields) -> SourceText:
    """Return a file's text in which each line ends where a value of a Secret begins."""
    words = {_SECRET, *secret_fields}
    source = SourceText(text)
    if not any(word in text for word in words):
        return source
    documents = load(text, file).documents
    unparsed = _between(documents, len(text))
    spans = [
        each for each in unparsed if any(word in text[each.start : each.end] for word in words)
    ]
    for document in documents:
        if not isinstance(document.value, dict | list):
            continue
        paths = _confidential_paths(document, secret_fields)
        spans += (document.span(Spot(path)) for path in paths)
    return SourceText(_masked(source, spans))


def _between(documents: Iterable[Document], end: int) -> Iterator[Span]:
    """Yield the parts of a file that are in no document."""
    start = 0
    for document in documents:
        part = document.part
        yield Span(start, part.start)
        start = part.start + len(part.text)
    yield Span(start, end)


def _confidential_paths(document: Document, secret_fields: SecretFields) -> Iterator[Path]:
    """Yield the paths of values of Secrets, in objects at any depth."""
    for path, obj in _mappings(document.value):
        if obj.get("kind") == _SECRET:
            yield from ((*path, *each) for each in _values_of_secret(obj, document.is_valid))
        else:
            fields = secret_fields.get(str(obj.get("kind")), ())
            yield from ((*path, *each) for each in fields if _at(obj, each) is not None)


def _mappings(value: Any, path: Path = ()) -> Iterator[tuple[Path, KubeObject]]:
    if isinstance(value, dict):
        yield path, value
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    for step, part in parts:
        if isinstance(part, dict | list):
            yield from _mappings(part, (*path, step))


def _values_of_secret(secret: KubeObject, is_valid: bool) -> Iterator[Path]:
    if _at(secret, _LAST_APPLIED) is not None:
        yield _LAST_APPLIED
    for key, part in secret.items():
        if key in _HARMLESS or part is None:
            continue
        if not is_valid or not isinstance(part, dict):
            yield (key,)  # of a key that is given twice, only the last value has a path
            continue
        for name, value in part.items():
            if value is not None and not _is_expression(value):
                yield (key, name)


def _is_expression(value: Any) -> bool:
    """Return whether a value consists of expressions without literals, so that it is no secret."""
    return isinstance(value, str) and "${" in value and not literals_of(scan(value))


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _masked(source: SourceText, spans: Iterable[Span]) -> str:
    """Replace what follows the start of a span, in each of its lines."""
    ends: dict[int, int] = {}  # by line: how many characters stay
    for span in spans:
        (first, column), (last, _) = source.position(span.start), source.position(span.end - 1)
        for number in range(first, last + 1):
            stays = column - 1 if number == first else 0
            ends[number] = min(stays, ends.get(number, stays))
    lines = source.lines()
    for number, stays in ends.items():
        if lines[number - 1].strip():
            lines[number - 1] = lines[number - 1][:stays] + HIDDEN
    return "\n".join(lines)
