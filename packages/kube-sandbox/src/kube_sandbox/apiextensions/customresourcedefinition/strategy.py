"""
What the kind CustomResourceDefinition does with its objects.

Follows kubernetes 1.35
k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go
strategy.PrepareForCreate, strategy.PrepareForUpdate, strategy.WarningsOnCreate.
"""

from collections.abc import Iterator

from kube_objects.formats import is_checked_format
from kube_objects.refs import KubeObject
from kube_objects.schemas import Schema
from kube_sandbox import api_errors
from kube_sandbox.apiextensions.customresourcedefinition.defaults import (
    empty_status,
    read_definition,
)
from kube_sandbox.apiextensions.customresourcedefinition.validation import (
    check_change,
    check_definition,
    check_status,
)
from kube_sandbox.apiextensions.schema.go_structs import MalformedError
from kube_sandbox.registry.strategy import (
    Errors,
    Fields,
    RequestContext,
    counts_generation,
    set_generation,
)

_KIND = "CustomResourceDefinition"
_HTTPS = 443


class DefinitionStrategy:
    """The ways of CustomResourceDefinitions."""

    @property
    def creates_on_update(self) -> bool:
        """Return the error that a PUT of a definition that is not there creates none."""
        return False

    @property
    def allows_unconditional_update(self) -> bool:
        """Return the error that a PUT must name the version it means to replace."""
        return False

    def decode(self, obj: KubeObject) -> list[str]:
        """
        Bring a definition into the form in which it is kept; changes it.

        Return the paths of fields that are not known and were dropped. Raises `StatusError` for
        what is no definition.
        """
        try:
            read, unknown = read_definition(obj)
        except MalformedError as error:
            raise self.unreadable(str(error)) from None
        obj.clear()
        obj.update(read)
        return unknown

    def unreadable(self, why: str) -> api_errors.StatusError:
        """Return the error that a body is no definition."""
        return api_errors.bad_request(
            f'{_KIND} in version "v1" cannot be handled as a {_KIND}: {why}'
        )

    def default(self, obj: KubeObject) -> None:
        """Fill in names that follow from others, and that nothing is converted."""
        self.decode(obj)
        spec, status = obj["spec"], obj["status"]
        names = spec["names"]
        if names["kind"]:
            names.setdefault("singular", names["kind"].lower())
            names.setdefault("listKind", f"{names['kind']}List")
        spec.setdefault("conversion", {"strategy": "None"})
        client = (spec["conversion"].get("webhook") or {}).get("clientConfig") or {}
        if "service" in client:
            client["service"].setdefault("port", _HTTPS)
        if not status["storedVersions"]:
            _store_current(obj)

    def prepare_create(self, obj: KubeObject, context: RequestContext) -> None:
        """Begin with an empty status."""
        obj["status"] = empty_status()
        set_generation(obj, 1)
        _store_current(obj)

    def prepare_update(
        self, new: KubeObject, old: KubeObject, subresource: str, context: RequestContext
    ) -> None:
        """Put back what this write may not reach, and count the generation."""
        if subresource == "status":
            new["spec"] = old["spec"]
            if not new["status"]["storedVersions"]:
                _store_current(new)
            return
        new["status"] = {**old["status"]}
        counts_generation(new, old, "spec")
        _store_current(new)

    def validate_create(self, obj: KubeObject, context: RequestContext) -> Errors:
        """Return the validation errors of a new definition."""
        return check_definition(obj)

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, context: RequestContext
    ) -> Errors:
        """Return the validation errors of a changed definition."""
        return check_status(new, old) if subresource == "status" else check_change(new, old)

    def warnings(self, obj: KubeObject, old: KubeObject | None) -> list[str]:
        """Return which formats are new and will not be checked."""
        known = set(_unknown_formats(old)) if old is not None else set()
        new = dict.fromkeys(each for each in _unknown_formats(obj) if each not in known)
        return [f'unrecognized format "{each}"' for each in new]

    def reset_fields(self, subresource: str) -> Fields:
        """Return what a write does not reach."""
        return (("metadata",), ("spec",)) if subresource == "status" else (("status",),)


def _store_current(crd: KubeObject) -> None:
    """Note that objects are stored in the version marked so."""
    stored = crd["status"]["storedVersions"] or []
    current = next(
        (each["name"] for each in crd["spec"]["versions"] or () if each["storage"]), None
    )
    if current is not None and current not in stored:
        crd["status"]["storedVersions"] = [*stored, current]


def _unknown_formats(crd: KubeObject) -> Iterator[str]:
    schemas: list[Schema] = [
        (version.get("schema") or {}).get("openAPIV3Schema") or {}
        for version in crd["spec"]["versions"] or ()
    ]
    # A schema that all versions have is looked at once.
    different = schemas[:1] if all(each == schemas[0] for each in schemas) else schemas
    for schema in different:
        yield from _formats(schema)


def _formats(schema: Schema) -> Iterator[str]:
    form = schema.get("format", "")
    if form and schema.get("type") == "string" and not is_checked_format(form):
        yield form
    for key in ("items", "not", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from _formats(schema[key])
    for key in ("allOf", "anyOf", "oneOf"):
        for part in schema.get(key) or ():
            yield from _formats(part)
    for part in (schema.get("properties") or {}).values():
        yield from _formats(part)
