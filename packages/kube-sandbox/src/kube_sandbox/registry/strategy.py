"""
What a kind does with its objects beyond what all kinds do.

The verbs call these in a fixed order. A write that gives a whole object (create, update, patch):
`default`, then `prepare_create` or `prepare_update`, then the matching `validate_…`. Everything is
pure: objects are changed in place where it is said, the time and the asker are in the
`RequestContext`.

What the verbs do themselves, for every kind: names and `generateName`, uid, creationTimestamp,
resourceVersion, deletionTimestamp and finalizers, the checks of `metadata` that all objects share
(`object_meta`), managed fields, dry runs. What stands in `metadata.generation` is the strategy's.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/registry/rest/create.go RESTCreateStrategy;
k8s.io/apiserver/pkg/registry/rest/update.go RESTUpdateStrategy.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from kube_objects.refs import KubeObject
from kube_sandbox.registry.field_errors import FieldError

Errors = list[FieldError]
# Paths of fields, as names: what a manager is not recorded to own, since a write does not reach it.
Fields = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class RequestContext:
    """When and by whom something is written, and what else is there."""

    now: datetime
    user: str = ""
    # Looks up an object of a built-in kind by plural with group ("services", "roles.rbac…"),
    # namespace and name.
    find: Callable[[str, str, str], KubeObject | None] = lambda *_: None
    dry_run: bool = False


class Strategy(Protocol):
    """One kind's ways; `subresource` is "" for the object itself, or "status"."""

    def default(self, obj: KubeObject) -> None:
        """Fill in what is left out; changes the object."""

    def prepare_create(self, obj: KubeObject, context: RequestContext) -> None:
        """Set what only the server sets, drop what only the server may set; changes it."""

    def prepare_update(
        self, new: KubeObject, old: KubeObject, subresource: str, context: RequestContext
    ) -> None:
        """Put back what this write may not reach, and count the generation; changes `new`."""

    def validate_create(self, obj: KubeObject, context: RequestContext) -> Errors:
        """Return the validation errors of a new object."""

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, context: RequestContext
    ) -> Errors:
        """Return the validation errors of a changed object."""

    def warnings(self, obj: KubeObject, old: KubeObject | None) -> list[str]:
        """Return what its author should know though it is accepted."""

    def reset_fields(self, subresource: str) -> Fields:
        """Return the fields that a write cannot change: its manager does not own them."""

    @property
    def creates_on_update(self) -> bool:
        """Return whether a PUT of an object that is not there creates it."""

    @property
    def allows_unconditional_update(self) -> bool:
        """Return whether a PUT may leave out the version it means to replace."""


def counts_generation(new: KubeObject, old: KubeObject, *parts: str) -> None:
    """Raise the generation if one of these top-level parts changed; else keep it."""
    before = old["metadata"].get("generation", 0)
    changed = any(new.get(part) != old.get(part) for part in parts)
    set_generation(new, before + 1 if changed else before)


def set_generation(obj: KubeObject, generation: int) -> None:
    """Set the generation; zero is written as nothing."""
    if generation:
        obj["metadata"]["generation"] = generation
    else:
        obj["metadata"].pop("generation", None)


def restore_field(new: KubeObject, old: KubeObject, part: str) -> None:
    """Put a top-level part back as it was."""
    if part in old:
        new[part] = old[part]
    else:
        new.pop(part, None)


Strategies = Mapping[str, Strategy]  # by plural with group
