"""
What a custom kind does with its objects, by the schema that its definition gives a version.

What a body goes through: `decode` (metadata in form, unknown fields pruned and named), `default`;
then what every kind does. Objects are stored in the storage version: `stored` turns one of this
version into it, `shown` turns what is stored into this version, by today's schemas of both. No
conversion but of the apiVersion is known, so what the other version does not describe is lost.

Follows kubernetes 1.35 k8s.io/apiextensions-apiserver/pkg/registry/customresource/strategy.go
customResourceStrategy.PrepareForCreate, customResourceStrategy.PrepareForUpdate,
customResourceStrategy.ValidateUpdate;
k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go
schemaCoercingDecoder.Decode;
k8s.io/apiextensions-apiserver/pkg/registry/customresource/validator.go validateKubeFinalizerName.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from kube_objects.defaulting import SchemaReader
from kube_objects.ratcheting import ABSENT, is_equal
from kube_objects.refs import Kind, KubeObject
from kube_objects.schema_validator import SchemaValidator
from kube_objects.schemas import Schema
from kube_sandbox import api_errors
from kube_sandbox.apiextensions.cel.rule_tree import RuleTree, Verdict, rule_tree
from kube_sandbox.apiextensions.customresource.scale_subresource import check_scale
from kube_sandbox.apiextensions.schema.embedded_resources import (
    check_embedded,
    check_unique_items,
    embedded_parts,
    unique_parts,
)
from kube_sandbox.apiextensions.schema.go_structs import (
    MalformedError,
    whole_numbers,
)
from kube_sandbox.apiextensions.schema.object_meta import read_metadata
from kube_sandbox.apiextensions.schema.prune_and_default import (
    apply_defaults,
    normalize_object,
)
from kube_sandbox.apiextensions.schema.violations import NOWHERE, as_field_errors
from kube_sandbox.lazy import lazy_module
from kube_sandbox.registry import object_meta
from kube_sandbox.registry.field_errors import ErrorType, FieldError, invalid
from kube_sandbox.registry.kinds import ScalePaths
from kube_sandbox.registry.name_validation import name_is_subdomain, qualified_name
from kube_sandbox.registry.strategy import (
    Errors,
    Fields,
    RequestContext,
    restore_field,
    set_generation,
)

if TYPE_CHECKING:
    from kube_sandbox.apiextensions.cel import rule_evaluation
else:
    rule_evaluation = lazy_module("kube_sandbox.apiextensions.cel.rule_evaluation")

# With one of these, rules are not asked: they are written for objects of the right shape.
_BLOCKING = frozenset(
    (
        ErrorType.NOT_SUPPORTED,
        ErrorType.REQUIRED,
        ErrorType.TOO_LONG,
        ErrorType.TOO_MANY,
        ErrorType.TYPE_INVALID,
    )
)
_RULES_SKIPPED = FieldError(
    ErrorType.INVALID,
    NOWHERE,
    None,
    "some validation rules were not checked because the object was invalid; correct the existing "
    "errors to complete validation",
)
_KNOWN_FINALIZERS = frozenset(("orphan", "foregroundDeletion", "kubernetes"))


class Version:
    """The schema of one version, compiled as far as it is needed."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    @cached_property
    def reader(self) -> SchemaReader:
        """How objects are brought into form."""
        return SchemaReader(self.schema, is_object=True)

    @cached_property
    def checker(self) -> SchemaValidator:
        """How objects are checked."""
        return SchemaValidator(self.schema)

    @cached_property
    def status_checker(self) -> SchemaValidator | None:
        """How the status of objects is checked."""
        status = (self.schema.get("properties") or {}).get("status")
        return SchemaValidator(status) if status is not None else None

    @cached_property
    def rules(self) -> RuleTree | None:
        """The validation rules."""
        return rule_tree(self.schema, is_root=True)

    @cached_property
    def embedded(self) -> Schema | None:
        """Where there are objects inside objects."""
        return embedded_parts(self.schema)

    @cached_property
    def unique(self) -> Schema | None:
        """Where there are lists whose items must differ."""
        return unique_parts(self.schema)


@dataclass(eq=False)
class CustomStrategy:
    """The ways of a custom kind at one version; `versions` are all that its definition has."""

    kind: Kind
    namespaced: bool
    versions: Mapping[str, Version]
    storage_version: str
    has_status: bool = False
    scale: ScalePaths | None = None
    # What the rules said in the last validation of an update, for `warnings` to tell.
    _forgiven: tuple[KubeObject, list[str]] | None = field(default=None, repr=False)

    @property
    def version(self) -> Version:
        """Return the version that is served."""
        return self.versions[self.kind.version]

    @property
    def creates_on_update(self) -> bool:
        """Return the error that a PUT of an object that is not there creates none."""
        return False

    @property
    def allows_unconditional_update(self) -> bool:
        """Return the error that a PUT must name the version it means to replace."""
        return False

    # Reading

    def decode(self, obj: KubeObject) -> list[str]:
        """
        Bring an object into form as it is read from a body; changes it.

        Return the paths of fields that are not known and were dropped. Raises `StatusError` for
        metadata that cannot be read.
        """
        unknown: list[str] = []
        try:
            if "metadata" in obj:
                obj["metadata"], found = read_metadata(obj["metadata"])
                unknown = [f"metadata.{each}" for each in found]
            return unknown + normalize_object(obj, self.version.reader)
        except MalformedError as error:
            raise self.unreadable(str(error)) from None

    def unreadable(self, why: str) -> api_errors.StatusError:
        """Return what a strictly decoded body is rejected with: `unknown field …`."""
        kind, version = self.kind.kind, self.kind.version
        return api_errors.bad_request(
            f'{kind} in version "{version}" cannot be handled as a {kind}: {why}'
        )

    def default(self, obj: KubeObject) -> None:
        """Prune, drop nulls and fill in defaults; changes the object."""
        try:
            normalize_object(obj, self.version.reader)
        except MalformedError as error:
            raise self.unreadable(str(error)) from None

    def fill(self, obj: KubeObject) -> None:
        """Bring what an apply made into form, with its defaults; changes the object."""
        try:
            if "metadata" in obj:
                obj["metadata"], _ = read_metadata(obj["metadata"])
            apply_defaults(obj, self.version.reader)
        except MalformedError as error:
            raise self.unreadable(str(error)) from None

    def stored(self, obj: KubeObject) -> KubeObject:
        """Turn an object of this version into what is stored; changes and returns it."""
        if self.storage_version != self.kind.version:
            obj["apiVersion"] = f"{self.kind.group}/{self.storage_version}"
            normalize_object(obj, self.versions[self.storage_version].reader, defaults=False)
        for key, part in obj.items():
            if key != "metadata":
                obj[key] = whole_numbers(part)
        return obj

    def shown(self, value: KubeObject) -> KubeObject:
        """Turn what is stored into an object of this version; changes and returns it."""
        stored_version = value["apiVersion"].rpartition("/")[2]
        stored = self.versions.get(stored_version)
        normalize_object(value, stored.reader if stored is not None else None)
        value["metadata"].setdefault("generation", 1)
        if stored_version != self.kind.version:
            value["apiVersion"] = self.kind.api_version
            normalize_object(value, self.version.reader, defaults=False)
        return value

    # Writing

    def prepare_create(self, obj: KubeObject, context: RequestContext) -> None:
        """Drop the status if it is written elsewhere, and begin to count generations."""
        if self.has_status:
            obj.pop("status", None)
        set_generation(obj, 1)

    def prepare_update(
        self, new: KubeObject, old: KubeObject, subresource: str, context: RequestContext
    ) -> None:
        """Put back what this write may not reach, and count the generation."""
        if subresource == "status":
            # Make a new object of the old one with the new one's status and managers.
            status, managers = new.get("status", ABSENT), new["metadata"].get("managedFields")
            metadata = {**old["metadata"]}
            metadata.pop("managedFields", None)
            if managers is not None:
                metadata["managedFields"] = managers
            # The caller may hold a reference to this dict: only its content may change.
            new["metadata"].clear()
            new["metadata"].update(metadata)
            for key in [key for key in new if key != "metadata"]:
                del new[key]
            new.update(
                {key: part for key, part in old.items() if key not in ("metadata", "status")}
            )
            if status is not ABSENT:
                new["status"] = status
            return
        if self.has_status:
            restore_field(new, old, "status")
        generation = old["metadata"].get("generation", 0)
        changed = not is_equal(_without_metadata(new), _without_metadata(old))
        set_generation(new, generation + 1 if changed else generation)

    def validate_create(self, obj: KubeObject, context: RequestContext) -> Errors:
        """Return the validation errors of a new object."""
        if wrong := self._check_kind(obj):
            return wrong
        version = self.version
        found = object_meta.validate_object_meta(obj, self.namespaced, name_is_subdomain)
        found += as_field_errors(version.checker.violations(obj))
        if self.scale is not None:
            found += check_scale(obj, self.scale)
        if version.embedded is not None:
            found += check_embedded(obj, version.embedded, "", here=False)
        if version.unique is not None:
            found += check_unique_items(obj, version.unique, "")
        return found + self._ask(obj, None, found).errors

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, context: RequestContext
    ) -> Errors:
        """Return the validation errors of a changed object."""
        if wrong := self._check_kind(new):
            return wrong
        found = object_meta.validate_object_meta_update(new, old)
        if subresource == "status":
            status: Errors = []
            checker = self.version.status_checker
            if "status" in new and checker is not None:
                violations = checker.violations(new["status"], old.get("status"))
                status = as_field_errors(violations, "status")
            if self.scale is not None:
                status += check_scale(new, self.scale, status_only=True)
            found += status
        else:
            version = self.version
            check: Errors = as_field_errors(version.checker.violations(new, old))
            if self.scale is not None:
                check += check_scale(new, self.scale)
            if version.embedded is not None:
                check += check_embedded(new, version.embedded, "", here=False)
            found += check
        # What stands twice, unless something did before.
        unique = self.version.unique
        if unique is not None:
            items_found = check_unique_items(new, unique, "")
            found += [] if not items_found or check_unique_items(old, unique, "") else items_found
        verdict = self._ask(new, old, found)
        self._forgiven = (new, verdict.warnings)
        return found + verdict.errors

    def _check_kind(self, obj: KubeObject) -> Errors:
        wanted = {"kind": self.kind.kind, "apiVersion": self.kind.api_version}
        return [
            invalid(key, obj.get(key, ""), f"must be {value}")
            for key, value in wanted.items()
            if obj.get(key) != value
        ]

    def _ask(self, new: KubeObject, old: KubeObject | None, found: Errors) -> Verdict:
        rules = self.version.rules
        if rules is None:
            return Verdict()
        if any(error.sort in _BLOCKING for error in found):
            return Verdict([_RULES_SKIPPED])
        if old is None:
            return rule_evaluation.evaluate_rules(rules, new)
        return rule_evaluation.evaluate_rules(rules, new, old, forgiving=True)

    def ratcheted_warnings(self, obj: KubeObject) -> list[str]:
        """
        Return the errors that were forgiven when an update was validated last, if it was this one.

        They are warnings to its author also if the update is rejected for other reasons.
        """
        found, self._forgiven = self._forgiven, None
        return found[1] if found is not None and found[0] is obj else []

    def warnings(self, obj: KubeObject, old: KubeObject | None) -> list[str]:
        """Return what its author should know: odd finalizers, and errors that were forgiven."""
        before = set(old["metadata"].get("finalizers", ())) if old is not None else set()
        added = sorted(set(obj["metadata"].get("finalizers", ())) - before)
        found = []
        for name in added:
            place = f'metadata.finalizers: "{name}": '
            found += [place + each for each in qualified_name(name)]
            if "/" not in name and name not in _KNOWN_FINALIZERS:
                path = " including a path (/)" if "." in name else ""
                found.append(
                    f"{place}prefer a domain-qualified finalizer name{path} to avoid accidental "
                    "conflicts with other finalizer writers"
                )
        return self.ratcheted_warnings(obj) + found

    def reset_fields(self, subresource: str) -> Fields:
        """Return what a write does not reach."""
        if subresource == "status":
            return (("spec",),)
        return (("status",),) if self.has_status else ()


def _without_metadata(obj: KubeObject) -> KubeObject:
    return {key: part for key, part in obj.items() if key != "metadata"}
