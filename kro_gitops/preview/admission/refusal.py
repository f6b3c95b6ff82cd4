"""
A child → why the API server would not store it.

In the order of the server: server-side apply compares the object with its type, then the object is
validated. Of built-in kinds only the metadata and keys of data are validated here; the rest of
their rules is known to the server alone. Parts that are unknown are not checked.
"""

import re
from typing import Any

from kro_gitops.engine.graph.nodes import Node
from kro_gitops.preview.admission.field_types import type_errors
from kro_gitops.preview.admission.object_metadata import data_key_errors, metadata_errors
from kro_gitops.preview.admission.schema_rules import schema_errors
from kube_objects import structural_schema as schemas
from kube_objects.builtins.catalog import catalog
from kube_objects.errors import RefusedError
from kube_objects.go_text import quote
from kube_objects.refs import KubeObject
from kube_objects.schemas import KindSchema, Schema

# Types whose values can have no other type at run time.
_CHECKED = re.compile(r"(optional_type|list|map|string|bool|int|uint|double|[(), ])+")


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
    errors = [*metadata_errors(metadata, kind)]
    errors += data_key_errors(child) if is_builtin else schema_errors(child, served.schema)
    if not errors:
        return None
    qualified = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    listed = list(dict.fromkeys(errors))
    detail = listed[0] if len(listed) == 1 else f"[{', '.join(listed)}]"
    return RefusedError(
        "invalid", f"{qualified} {quote(str(metadata['name']))} is invalid: {detail}"
    )
