"""
A child → why the API server would not store it.

Objects of built-in kinds are sent to the API server in this process, if there is one. Without it,
and for custom kinds, the rules are here, in the order of the server: server-side apply compares the
object with its type, then the object is validated. Of built-in kinds only the metadata and keys of
data are then validated. Parts that are unknown are not checked.
"""

import re
from dataclasses import dataclass
from typing import Any

from kro_gitops.engine.graph.nodes import Node
from kro_gitops.errors import KroGitopsError
from kro_gitops.preview.admission.field_types import type_errors
from kro_gitops.preview.admission.object_metadata import data_key_causes, metadata_causes
from kro_gitops.preview.admission.schema_rules import schema_errors
from kro_gitops.preview.admission.shapes import shape_of, without_unknown
from kro_gitops.preview.cluster import ErrorOf
from kro_gitops.source.plan.rejections import problems_of
from kro_gitops.source.plan.schema_errors import violations
from kube_objects import structural_schema as schemas
from kube_objects.builtins.catalog import catalog
from kube_objects.errors import RefusedError
from kube_objects.go_text import quote
from kube_objects.problems import Path
from kube_objects.refs import KubeObject
from kube_objects.schemas import KindSchema, Schema

# Types whose values can have no other type at run time.
_CHECKED = re.compile(r"(optional_type|list|map|string|bool|int|uint|double|[(), ])+")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a child would not be stored; `path` is the field in it, as far as one is known."""

    error: RefusedError
    path: Path = ()


class ChildChecker:
    """Finds the children that the API server would reject."""

    def __init__(self, error_of: ErrorOf | None = None) -> None:
        self._error_of = error_of
        self._accepted: set[str] = set()  # shapes
        self._typed: dict[int, bool] = {}  # by node: whether the compiler checked all its types

    def refusal_of(self, child: KubeObject, node: Node) -> Refusal | None:
        """Return why a child of a node would be rejected; None if no reason is to be seen."""
        if self._error_of is None or catalog.find(node.served.kind) is None:
            is_typed = self._typed.get(id(node))
            if is_typed is None:
                is_typed = self._typed[id(node)] = is_type_checked(node)
            error = refusal_of(child, node.served, is_typed=is_typed)
            return Refusal(error) if error is not None else None
        shape, has_unknown = shape_of(child)
        if shape in self._accepted:
            return None
        known, unknown = without_unknown(child) if has_unknown else (child, [])
        rejection = self._error_of(known)
        if rejection is not None:
            found = _refusal(rejection, known, node.served, unknown)
            if found is not None:
                return found
        self._accepted.add(shape)
        return None


def _refusal(
    error: KroGitopsError, obj: KubeObject, served: KindSchema, unknown: list[Path]
) -> Refusal | None:
    """Return an answer of the API server, unless it is about something that is unknown."""
    problems = problems_of(error, obj, served, is_builtin=True)
    if unknown:
        problems = [each for each in problems if not _concerns(each.spot.path, unknown)]
        if not problems:
            return None
    is_typed = any(violations(error.message, obj))
    text = error.message
    if unknown and not is_typed:
        text = problems[0].summary
    hint, path = problems[0].hint, problems[0].spot.path
    if is_typed:
        return Refusal(RefusedError("schema-mismatch", text, hint=hint), path)
    return Refusal(RefusedError("invalid", text, hint=hint), path)


def _concerns(path: Path, unknown: list[Path]) -> bool:
    """Return True if a path is above or below one that is unknown; errors may have no indices."""
    named = _names(path)
    others = map(_names, unknown)
    return any(named[: len(each)] == each or each[: len(named)] == named for each in others)


def _names(path: Path) -> Path:
    return tuple(step for step in path if isinstance(step, str))


def is_type_checked(node: Node) -> bool:
    """
    Return whether the compiler has compared all types of a template with the schema.

    It does not compare the items of a list with each other: two may have the same key.
    """
    types = [str(each.expression.program.type) for each in node.fields]
    if not all(map(_CHECKED.fullmatch, types)) or any("list" in each for each in types):
        return False
    return not _may_repeat(node.body, node.served.schema)


def _may_repeat(value: Any, schema: Schema) -> bool:
    """Return whether a value has a list of which two items could have the same key."""
    if isinstance(value, dict):
        return any(
            _may_repeat(part, schemas.field(schema, key) or {}) for key, part in value.items()
        )
    if not isinstance(value, list):
        return False
    if len(value) > 1 and schemas.list_type(schema) != "atomic":
        return True
    return any(_may_repeat(item, schemas.items(schema) or {}) for item in value)


def refusal_of(
    child: KubeObject, served: KindSchema, *, is_typed: bool = False
) -> RefusedError | None:
    """
    Return the error that the API server responds with, or None if there is none to be seen.

    With `is_typed`, types are not compared: the compiler has done so.
    """
    kind, metadata = served.kind, child["metadata"]
    is_builtin = catalog.find(kind) is not None
    texts = [] if is_typed else type_errors(child, served.schema, is_builtin=is_builtin)
    if texts:
        place = f"{metadata.get('namespace') or ''}/{metadata['name']}"
        group = f"{kind.group}/{kind.version}, Kind={kind.kind}"
        text = texts[0] if len(texts) == 1 else "\n  ".join(("errors:", *texts))
        return RefusedError(
            "schema-mismatch", f"failed to create typed patch object ({place}; {group}): {text}"
        )
    causes = [*metadata_causes(metadata, kind), *(data_key_causes(child) if is_builtin else ())]
    errors = [f"{each.field}: {each.message}" for each in causes]
    errors += [] if is_builtin else schema_errors(child, served.schema)
    if not errors:
        return None
    qualified = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    listed = list(dict.fromkeys(errors))
    detail = listed[0] if len(listed) == 1 else f"[{', '.join(listed)}]"
    return RefusedError(
        "invalid", f"{qualified} {quote(str(metadata['name']))} is invalid: {detail}"
    )
