"""
The place of an instance's field in the SimpleSchema of its definition.

`spec.queues[1].concurrency` may stand under `spec.schema.spec.queues`, which says `[]Queue`, and so
under `spec.schema.types.Queue.concurrency`.
"""

import re
from collections.abc import Mapping
from typing import Any

from kube_objects.paths import find
from kube_objects.problems import Path
from kube_objects.refs import as_mapping

_ROOT: Path = ("spec", "schema")
_PREFIX = re.compile(r"\[\]|map\[[^\]]*\]")


def schema_place(definition: Mapping[str, Any], path: Path) -> Path | None:
    """Return the path in a definition of an instance's field, as deep as it declares it."""
    schema = as_mapping(as_mapping(definition.get("spec")).get("schema"))
    if path[:1] != ("spec",) or "spec" not in schema:
        return None
    types = as_mapping(schema.get("types"))
    at: Path = (*_ROOT, "spec")  # the answer, if the path ends here
    here, base = schema["spec"], at  # the schema of the next step, and its path
    for step in path[1:]:
        if isinstance(here, str):
            prefix = _PREFIX.match(here)
            if prefix is None:
                return at
            here = here[prefix.end() :]
        elif isinstance(here, dict) and isinstance(step, str) and step in here:
            at = base = (*base, step)
            here = here[step]
        else:
            return None
        if isinstance(here, str) and _type(here) in types:
            name = _type(here)
            here, base = types[name], (*_ROOT, "types", name)
            # A marker at the field itself (its default) is more specific than the type.
            marked = find(definition, at)
            has_marker = isinstance(marked, str) and "|" in marked and isinstance(step, str)
            at = at if has_marker else base
    return at


def _type(text: str) -> str:
    return text.partition("|")[0].strip()
