"""
The strategy that most built-in kinds derive from, and all that the simplest need.

`KindOptions` describes a kind: scope, name rule, whether it has a status, what its generation
counts. `BaseStrategy` applies them and validates metadata; kinds with defaults or checks of their
own override `default`, `check` and `check_update`.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/registry/rest/create.go BeforeCreate;
k8s.io/apiserver/pkg/registry/rest/update.go BeforeUpdate.
"""

from dataclasses import dataclass

from kube_objects.refs import KubeObject
from kube_sandbox.registry import object_meta
from kube_sandbox.registry.name_validation import NameRule, name_is_subdomain
from kube_sandbox.registry.strategy import (
    Errors,
    Fields,
    RequestContext,
    counts_generation,
    restore_field,
    set_generation,
)

_STATUS: Fields = (("status",),)
_SPEC: Fields = (("spec",),)


@dataclass(frozen=True, slots=True)
class KindOptions:
    """What is true of a kind."""

    namespaced: bool = True
    name_rule: NameRule = name_is_subdomain
    has_status: bool = False
    counted: tuple[str, ...] = ()  # the top-level parts whose changes its generation counts
    creates_on_update: bool = False
    # Whether a PUT may leave out the version it means to replace.
    allows_unconditional_update: bool = True
    # Whether finalizers must be known or have a domain; so it is in all but a few groups.
    validates_finalizers: bool = True
    # Whether an update is also validated like a new object.
    revalidates_metadata: bool = False


class BaseStrategy:
    """The ways of a kind without defaults and checks of its own."""

    def __init__(self, ways: KindOptions) -> None:
        self.ways = ways

    @property
    def creates_on_update(self) -> bool:
        """Return whether a PUT of an object that is not there creates it."""
        return self.ways.creates_on_update

    @property
    def allows_unconditional_update(self) -> bool:
        """Return whether a PUT may leave out the version it means to replace."""
        return self.ways.allows_unconditional_update

    def default(self, obj: KubeObject) -> None:
        """Default nothing."""

    def check(self, obj: KubeObject) -> Errors:
        """Return what is wrong beside the metadata."""
        return []

    def check_update(self, new: KubeObject, old: KubeObject) -> Errors:
        """Return which changes are not allowed."""
        return []

    def check_status(self, new: KubeObject, old: KubeObject) -> Errors:
        """Return the errors in a changed status."""
        return []

    def prepare_create(self, obj: KubeObject, occasion: RequestContext) -> None:
        """Begin with the first generation and an empty status."""
        if self.ways.has_status:
            obj["status"] = self.first_status(obj, occasion)
        set_generation(obj, 1 if self.ways.counted else obj["metadata"].get("generation", 0))

    def first_status(self, obj: KubeObject, occasion: RequestContext) -> KubeObject:
        """Return the status of a new object."""
        return {}

    def prepare_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> None:
        """Keep the part that this write does not reach, and count."""
        if self.ways.has_status:
            restore_field(new, old, "spec" if subresource == "status" else "status")
        if subresource == "status":
            set_generation(new, old["metadata"].get("generation", 0))
        else:
            counts_generation(new, old, *self.ways.counted)

    def validate_create(self, obj: KubeObject, occasion: RequestContext) -> Errors:
        """Return the errors in a new object."""
        return self.checked_meta(obj) + self.check(obj)

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> Errors:
        """Return the errors in a changed object."""
        if subresource == "status":
            return self.changed_meta(new, old) + self.check_status(new, old)
        found = self.changed_meta(new, old) + self.check_update(new, old)
        if self.ways.revalidates_metadata:
            found += self.checked_meta(new)
        return found + self.check(new)

    def checked_meta(self, obj: KubeObject) -> Errors:
        """Return the errors in the metadata."""
        validate = object_meta.validate_object_meta
        if self.ways.validates_finalizers:
            validate = object_meta.validate_create
        return validate(obj, self.ways.namespaced, self.ways.name_rule)

    def changed_meta(self, new: KubeObject, old: KubeObject) -> Errors:
        """Return what an update may not do to the metadata."""
        validate = object_meta.validate_object_meta_update
        if self.ways.validates_finalizers:
            validate = object_meta.validate_update
        return validate(new, old)

    def warnings(self, obj: KubeObject, old: KubeObject | None) -> list[str]:
        """Have nothing to say."""
        return []

    def reset_fields(self, subresource: str) -> Fields:
        """Return the half that a write does not reach."""
        if not self.ways.has_status:
            return ()
        return _SPEC if subresource == "status" else _STATUS
