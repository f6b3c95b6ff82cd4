"""
Which expressions handle values of Secrets, so that no message quotes them.

Values of Secrets come from Secrets that a graph reads, and from what a template writes into the
data of a Secret: texts and literals of the template, and fields of the instance. Messages about
such an expression go to statuses, Events and logs, which more people read than the Secret.
"""

import re
from collections.abc import Iterable, Iterator

from kube_cel.interpolation import Template, Text
from kube_objects.problems import Path
from kube_objects.refs import KubeObject

HIDDEN = "…"
SECRET_DATA = ("data", "stringData")

# A literal of CEL; one that is not closed ends with the text.
_LITERAL = re.compile(r"""("{3}|'{3}|"|')(.*?)(?:(?<!\\)\1|\Z)""", re.DOTALL)
_SHORTEST = 3  # characters; a shorter text is part of other words
_INSTANCE = "schema."
_INSTANCE_METADATA = "schema.metadata"


def is_secret(body: KubeObject) -> bool:
    """Return whether an object or a template is a Secret."""
    return (body.get("apiVersion"), body.get("kind")) == ("v1", "Secret")


def literals_of(template: Template) -> tuple[str, ...]:
    """Return the texts that a template contains itself, outside and inside of its expressions."""
    found: list[str] = []
    for piece in template.pieces:
        if isinstance(piece, Text):
            found.append(piece.text)
        else:
            found += (match[2] for match in _LITERAL.finditer(piece.text))
    return tuple(text for text in found if len(text.strip()) >= _SHORTEST)


def without(text: str, literals: Iterable[str]) -> str:
    """Return a text in which literals are hidden, the longest first."""
    for literal in sorted(literals, key=len, reverse=True):
        text = text.replace(literal, HIDDEN).replace(literal.strip(), HIDDEN)
    return text


def instance_fields(reads: Iterable[str]) -> Iterator[str]:
    """Yield the paths of an instance that an expression reads, apart from metadata."""
    for path in reads:
        if path.startswith(_INSTANCE) and not path.startswith(_INSTANCE_METADATA):
            yield path


def is_confidential(reads: Iterable[str], confidential: Iterable[str]) -> bool:
    """Return whether one of the paths contains a confidential one, or is part of one."""
    sources = tuple(confidential)
    return any(
        f"{path}.".startswith(f"{source}.") or f"{source}.".startswith(f"{path}.")
        for path in reads
        for source in sources
    )


def instance_paths(confidential: Iterable[str]) -> frozenset[Path]:
    """Return the confidential fields of instances as paths: `("spec", "password")`."""
    fields = instance_fields(confidential)
    return frozenset(tuple(path.removeprefix(_INSTANCE).split(".")) for path in fields)
