"""
A schema while it is being created.

A draft is an OpenAPI schema that remembers which marker set which keyword, so that a violation that
an API server would report has the position of that marker. Drafts of
custom types are shared between their uses; `instantiate` makes the copy that a use may change,
and only `export` writes everything out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kube_objects.problems import Path, Problem, Spot

Schema = dict[str, Any]

# Keywords in the order people read them.
_ORDER = (
    "type",
    "description",
    "enum",
    "default",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "items",
    "additionalProperties",
    "required",
    "properties",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-validations",
)

LIST_TYPE = "x-kubernetes-list-type"
LIST_MAP_KEYS = "x-kubernetes-list-map-keys"
PRESERVE_UNKNOWN = "x-kubernetes-preserve-unknown-fields"
VALIDATIONS = "x-kubernetes-validations"


@dataclass(slots=True)
class Draft:
    """
    One schema.

    Without a `type` among its keywords nothing is known about it, because the definition
    is wrong: then it goes with everything. `path` is the definition it comes from, `spots`
    where its keywords were written, one for each entry of those that hold a list. `defects`
    are keywords whose value cannot be written as JSON. `required` counts how often the
    field is marked so.
    """

    path: Path = ()
    keywords: Schema = field(default_factory=dict)
    spots: dict[str, list[Spot]] = field(default_factory=dict)
    defects: dict[str, Problem] = field(default_factory=dict)
    required: int = 0
    items: "Draft | None" = None
    values: "Draft | None" = None
    properties: Mapping[str, "Draft"] | None = None
    size: int = 1
    depth: int = 1

    @property
    def type(self) -> str | None:
        """Return the OpenAPI type, or nothing if the definition is wrong."""
        found: str | None = self.keywords.get("type")
        return found

    @property
    def has_default(self) -> bool:
        """Return whether a default is written, even a wrong one."""
        return "default" in self.keywords

    def set(self, keyword: str, value: Any, spot: Spot, defect: Problem | None = None) -> None:
        """Write a keyword over what was there; `spot` is relative to the definition."""
        self.keywords[keyword] = value
        self.spots[keyword] = [spot.below(self.path)]
        self.defects.pop(keyword, None)
        if defect is not None:
            self.defects[keyword] = defect.below(self.path)

    def append(self, keyword: str, value: Any, spot: Spot) -> None:
        """Add to a keyword that holds a list; `spot` is relative to the definition."""
        self.keywords.setdefault(keyword, []).append(value)
        self.spots.setdefault(keyword, []).append(spot.below(self.path))

    def spot(self, keyword: str) -> Spot:
        """Return where a keyword was written, or the whole definition."""
        spots = self.spots.get(keyword)
        return spots[0] if spots else Spot(self.path)


def scalar(path: Path, openapi_type: str) -> Draft:
    """Make the draft of a built-in type."""
    keywords: Schema = {"type": openapi_type}
    if openapi_type == "object":
        keywords[PRESERVE_UNKNOWN] = True
    return Draft(path, keywords)


def list_of(path: Path, items: Draft) -> Draft:
    """Make the draft of `[]T`."""
    return Draft(path, {"type": "array"}, items=items, size=items.size + 1, depth=items.depth + 1)


def map_of(path: Path, values: Draft) -> Draft:
    """Make the draft of `map[string]T`."""
    return Draft(
        path, {"type": "object"}, values=values, size=values.size + 1, depth=values.depth + 1
    )


def structure(path: Path, properties: Mapping[str, Draft]) -> Draft:
    """Make the draft of a map of fields, with the `required` and `default` they give it."""
    keywords: Schema = {"type": "object"}
    required = sorted(name for name, child in properties.items() for _ in range(child.required))
    if required:
        keywords["required"] = required
    elif any(child.has_default for child in properties.values()):
        # Without it, defaults below would not apply to objects that omit the structure.
        keywords["default"] = {}
    return Draft(
        path,
        keywords,
        properties=properties,
        size=1 + sum(child.size for child in properties.values()),
        depth=1 + max((child.depth for child in properties.values()), default=0),
    )


def instantiate(draft: Draft, path: Path) -> Draft:
    """Copy a custom type for one use; what lies below stays shared."""
    return replace(
        draft,
        path=path,
        keywords=_unshared(draft.keywords),
        spots={keyword: list(spots) for keyword, spots in draft.spots.items()},
        defects=dict(draft.defects),
        required=min(draft.required, 1),
    )


def export(draft: Draft) -> Schema:
    """Write out the schema; nothing in it is shared."""
    schema = {keyword: _unshared(value) for keyword, value in draft.keywords.items()}
    if draft.items is not None:
        schema["items"] = export(draft.items)
    if draft.values is not None:
        schema["additionalProperties"] = export(draft.values)
    if draft.properties:
        schema["properties"] = {name: export(child) for name, child in draft.properties.items()}
    return {keyword: schema[keyword] for keyword in _ORDER if keyword in schema}


def _unshared(value: Any) -> Any:
    """Copy a schema deeply: types that are used twice must not share one object."""
    if isinstance(value, dict):
        return {key: _unshared(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_unshared(child) for child in value]
    return value
