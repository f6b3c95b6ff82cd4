"""
Finds what an API server would reject in a schema that kro accepts.

kro leaves many checks to the API server, which reports them only when the CRD is written. These are
its rules for structural schemas and defaults (Kubernetes 1.35), as far as SimpleSchema can break
them, checked on the schema as a whole: a type that is not used, or a default that every use
replaces, never reaches a server.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from kro_gitops.engine.simpleschema.defaults import find_violation
from kro_gitops.engine.simpleschema.marker_effects import IMMUTABLE_RULE
from kro_gitops.engine.simpleschema.schema_nodes import LIST_MAP_KEYS, LIST_TYPE, VALIDATIONS, Draft
from kube_objects.paths import format_path
from kube_objects.problems import Path, Problem, Spot

MAX_DEPTH = 128  # levels; ours, far above what people write
MAX_FIELDS = 75_000  # even the shortest take more than etcd's 1.5 MiB for one object


def structural_errors(root: Draft) -> Iterator[Problem]:
    """Yield the violations of structural schema rules; those of a shared type once."""
    if root.depth > MAX_DEPTH:
        summary = f"after types are expanded, the schema is deeper than {MAX_DEPTH} levels"
        yield Problem("schema-too-deep", summary, Spot(root.path))
    elif root.size > MAX_FIELDS:
        summary = f"after types are expanded, the schema has more than {MAX_FIELDS} fields"
        yield Problem("schema-too-large", summary, Spot(root.path))
    else:
        yield from _Walk().visit(root)


@dataclass(slots=True)
class _Walk:
    """
    One walk over the drafts, which are shared: each is looked at once in each situation.

    `in_map`: servers do not check the defaults below map values. `list_path`: the list, if
    any, whose items a server cannot match with what they were before an update.
    """

    seen: set[tuple[int, bool, bool]] = field(default_factory=set)

    def visit(
        self, draft: Draft, in_map: bool = False, list_path: Path | None = None
    ) -> Iterator[Problem]:
        situation = (id(draft), in_map, list_path is not None)
        if situation in self.seen:
            return
        self.seen.add(situation)
        yield from draft.defects.values()
        if not in_map:
            yield from _wrong_default(draft)
        if list_path is not None:
            rules = draft.keywords.get(VALIDATIONS, ())
            for rule, spot in zip(rules, draft.spots.get(VALIDATIONS, ()), strict=True):
                if rule["rule"] == IMMUTABLE_RULE:
                    yield Problem(
                        "immutable-in-list",
                        f"items of the list at {format_path(list_path)} cannot be immutable: "
                        "items cannot be matched before and after a change",
                        spot,
                        hint="mark the list immutable, or name its key: listType=map listMapKey=…",
                    )
        if draft.items is not None:
            items = draft.items
            list_type = draft.keywords.get(LIST_TYPE)
            if list_type == "set":
                if items.type == "object":
                    yield Problem(
                        "set-of-objects",
                        "items of a set must be scalars, not objects",
                        draft.spot(LIST_TYPE),
                        hint="use listType=map with listMapKey=… to identify objects",
                    )
                elif items.type == "array" and items.keywords.get(LIST_TYPE, "atomic") != "atomic":
                    summary = "items of a set must be scalars or atomic lists"
                    yield Problem("set-of-lists", summary, draft.spot(LIST_TYPE))
            elif list_type == "map":
                yield from _wrong_map(draft, items)
            if list_path is None and draft.keywords.get(LIST_TYPE) != "map":
                list_path = draft.path
            yield from self.visit(draft.items, in_map, list_path)
        for child in (draft.properties or {}).values():
            yield from self.visit(child, in_map, list_path)
        if draft.values is not None:
            yield from self.visit(draft.values, True, list_path)


def _wrong_default(draft: Draft) -> Iterator[Problem]:
    value = draft.keywords.get("default")
    if value is None or "default" in draft.defects:
        return
    violation = find_violation(value, draft)
    if violation is None:
        return
    # Whatever was written later, at the use of a type, is what the author has to look at.
    spot = draft.spot("default")
    broken = draft.spot(violation.keyword)
    if spot.path != draft.path == broken.path:
        spot = broken
    yield Problem(violation.code, violation.summary, spot)


def _wrong_map(draft: Draft, items: Draft) -> Iterator[Problem]:
    keys = draft.keywords.get(LIST_MAP_KEYS, ())
    if not keys:
        yield Problem(
            "list-map-without-key",
            "listType=map needs a key",
            draft.spot(LIST_TYPE),
            hint="name the field that identifies items: listMapKey=…",
        )
    if items.type not in (None, "object"):
        summary = f"listType=map needs objects as items, not {items.type}"
        yield Problem("list-map-of-scalars", summary, draft.spot(LIST_TYPE))
    elif items.type == "object":
        for key, spot in zip(keys, draft.spots[LIST_MAP_KEYS] if keys else (), strict=True):
            found = (items.properties or {}).get(key)
            if found is None:
                summary = f"listMapKey '{key}' is not a field of the items"
                known = ", ".join(items.properties or ())
                hint = f"their fields are {known}" if known else "give them a type with fields"
                yield Problem("list-map-key-unknown", summary, spot, hint=hint)
            elif found.type in ("array", "object"):
                summary = f"listMapKey '{key}' must be a scalar, not {found.type}"
                yield Problem("list-map-key-not-scalar", summary, spot)
            elif (
                found.type is not None
                and key not in items.keywords.get("required", ())
                and "default" not in found.defects
                and found.keywords.get("default") is None
            ):
                yield Problem(
                    "list-map-key-optional",
                    f"listMapKey '{key}' is an optional field",
                    spot,
                    hint=f"mark '{key}' required=true or give it a default",
                )
