"""
PersistentVolumeClaim.

Follows kubernetes 1.35 pkg/apis/core/validation/validation.go ValidatePersistentVolumeClaimSpec,
ValidatePersistentVolumeClaimUpdate, ValidatePersistentVolumeClaimStatusUpdate;
pkg/registry/core/persistentvolumeclaim/strategy.go persistentvolumeclaimStrategy.PrepareForCreate;
pkg/api/persistentvolumeclaim/util.go NormalizeDataSources.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from kube_objects.quantity import ZERO, Quantity, parse_quantity
from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy, KindOptions
from kube_sandbox.registry.builtin.internal_json import difference
from kube_sandbox.registry.builtin.resource_lists import is_native, round_up
from kube_sandbox.registry.field_errors import forbidden, invalid, not_supported, required
from kube_sandbox.registry.name_validation import dns_label, dns_subdomain, qualified_name
from kube_sandbox.registry.object_meta import immutable, label_selector
from kube_sandbox.registry.strategy import Errors, RequestContext

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
_CLASS_KEY = "volume.beta.kubernetes.io/storage-class"
_IMMUTABLE_MESSAGE = (
    "spec is immutable after creation except resources.requests and "
    "volumeAttributesClassName for bound claims\n"
)
_RESIZING = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)
_SNAPSHOTS = "snapshot.storage.k8s.io"

Part = Mapping[str, Any]


class PersistentVolumeClaims(BaseStrategy):
    """Requests for volumes."""

    def default(self, obj: KubeObject) -> None:
        """Want a file system, and wait."""
        spec = obj.setdefault("spec", {})
        spec.setdefault("volumeMode", "Filesystem")
        for part in ("limits", "requests"):
            round_up(spec.get("resources", {}).get(part))
        status = obj.setdefault("status", {})
        status.setdefault("phase", "Pending")
        for part in ("capacity", "allocatedResources"):
            round_up(status.get(part))

    def first_status(self, obj: KubeObject, occasion: RequestContext) -> KubeObject:
        """Wait. A real one is without a phase for as long as it takes to be stored."""
        return {"phase": "Pending"}

    def prepare_create(self, obj: KubeObject, occasion: RequestContext) -> None:
        """Let the two ways to name a source agree."""
        super().prepare_create(obj, occasion)
        spec = obj["spec"]
        _drop_cross_namespace_source(spec, {})
        if "dataSourceRef" not in spec and not _is_old_source(spec.get("dataSource")):
            spec.pop("dataSource", None)
        _sync_data_sources(spec)

    def prepare_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> None:
        """Keep the half that this write does not reach."""
        super().prepare_update(new, old, subresource, occasion)
        if subresource != "status":
            spec, before = new["spec"], old["spec"]
            _drop_cross_namespace_source(spec, before)
            had = "dataSource" in before or "dataSourceRef" in before
            keeps = had or "dataSourceRef" in spec or _is_old_source(spec.get("dataSource"))
            if not keeps:
                spec.pop("dataSource", None)
            _sync_data_sources(spec)

    def check(self, obj: KubeObject) -> Errors:
        """Validate the spec."""
        return claim_errors(obj["spec"], "spec")

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> Errors:
        """Validate a change: of a bound claim only size and class of attributes may change."""
        found = self.changed_meta(new, old)
        if subresource == "status":
            status: Part = new.get("status", {})
            status_errors = _amount_errors(status.get("capacity", {}), "status.capacity")
            field = "status.allocatedResourceStatuses"
            for name, state in status.get("allocatedResourceStatuses", {}).items():
                status_errors += _allocated_name_errors(name, field)
                if state not in _RESIZING:
                    status_errors.append(not_supported(field, name, _RESIZING))
            field = "status.allocatedResources"
            for name, text in status.get("allocatedResources", {}).items():
                status_errors += _allocated_name_errors(name, field) or _amount_errors(
                    {name: text}, field
                )
            return found + status_errors
        return found + self.checked_meta(new) + self.check(new) + _changed_errors(new, old)

    def warnings(self, obj: KubeObject, old: KubeObject | None) -> list[str]:
        """Warn of an annotation that is out of use, and of parts of bytes."""
        field = f"metadata.annotations[{_CLASS_KEY}]"
        written = _CLASS_KEY in obj["metadata"].get("annotations", {})
        message = 'deprecated since v1.8; use "storageClassName" attribute instead'
        found = [f"{field}: {message}"] if written else []
        for part in ("requests", "limits"):
            size = obj["spec"].get("resources", {}).get(part, {}).get("storage")
            if size is not None and parse_quantity(size).milli % 1000:
                message = f'fractional byte value "{size}" is invalid, must be an integer'
                found.append(f"spec.resources.{part}[storage]: {message}")
        return found


def _is_old_source(source: Part | None) -> bool:
    """Return whether a source is of the kinds that could be named before any could."""
    if source is None:
        return False
    group, kind = source.get("apiGroup") or "", source.get("kind", "")
    return (group, kind) in (("", "PersistentVolumeClaim"), (_SNAPSHOTS, "VolumeSnapshot"))


def _drop_cross_namespace_source(spec: dict[str, Any], before: Part) -> None:
    """Drop a source in another namespace: the feature is off."""
    is_far = bool(spec.get("dataSourceRef", {}).get("namespace"))
    if is_far and "dataSourceRef" not in before:
        del spec["dataSourceRef"]


def _sync_data_sources(spec: dict[str, Any]) -> None:
    """Copy dataSource to dataSourceRef or back: clients may know only one of them."""
    old, new = spec.get("dataSource"), spec.get("dataSourceRef")
    if old is not None and new is None:
        spec["dataSourceRef"] = dict(old)
    elif new is not None and old is None and not new.get("namespace"):
        spec["dataSource"] = {key: value for key, value in new.items() if key != "namespace"}


def mode_errors(modes: list[str], field: str) -> Errors:
    """Validate how a volume is used."""
    found: Errors = [
        not_supported(field, mode, ACCESS_MODES) for mode in modes if mode not in ACCESS_MODES
    ]
    known = {mode for mode in modes if mode in ACCESS_MODES}
    if "ReadWriteOncePod" in known and len(known) > 1:
        message = "may not use ReadWriteOncePod with other access modes"
        found.append(forbidden(field, message))
    return found


def claim_errors(spec: Part, field: str) -> Errors:
    """Validate the spec of a claim or of a claim template."""
    modes = list(spec.get("accessModes", ()))
    found: Errors = []
    if not modes:
        message = "at least 1 access mode is required"
        found.append(required(f"{field}.accessModes", message))
    found += label_selector(spec.get("selector"), f"{field}.selector")
    found += mode_errors(modes, f"{field}.accessModes")
    size_field = f"{field}.resources[storage]"
    size = spec.get("resources", {}).get("requests", {}).get("storage")
    if size is None:
        found.append(required(size_field))
    elif parse_quantity(size).sign <= 0:
        found.append(invalid(size_field, size, "must be greater than zero"))
    for part in ("storageClassName", "volumeAttributesClassName"):
        name = spec.get(part)
        if part == "volumeAttributesClassName":
            found += _mode_and_source_errors(spec, field)
        if name:
            found += [invalid(f"{field}.{part}", name, each) for each in dns_subdomain(name)]
    return found


def _mode_and_source_errors(spec: Part, field: str) -> Errors:
    mode = spec.get("volumeMode")
    found: Errors = []
    if mode is not None and mode not in VOLUME_MODES:
        found.append(not_supported(f"{field}.volumeMode", mode, VOLUME_MODES))
    old, new = spec.get("dataSource"), spec.get("dataSourceRef")
    for part, source in (("dataSource", old), ("dataSourceRef", new)):
        if source is None:
            continue
        where = f"{field}.{part}"
        found += [required(f"{where}.{key}") for key in ("name", "kind") if not source.get(key)]
        group, kind = source.get("apiGroup") or "", source.get("kind", "")
        if not group and kind != "PersistentVolumeClaim":
            message = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
            found.append(invalid(where, kind, message))
        if group:
            found += [invalid(f"{where}.apiGroup", group, each) for each in dns_subdomain(group)]
        if namespace := source.get("namespace"):
            wrong = dns_label(namespace)
            found += [invalid(f"{where}.namespace", namespace, each) for each in wrong]
    if old is None or new is None:
        return found
    if new.get("namespace"):
        message = "may not be specified when dataSourceRef.namespace is specified"
        found.append(invalid(field, {}, message))
    elif any(old.get(part) != new.get(part) for part in ("apiGroup", "kind", "name")):
        found.append(invalid(field, {}, "must match dataSourceRef"))
    return found


def _storage(part: Part) -> Quantity:
    text = part.get("storage")
    return ZERO if text is None else parse_quantity(text)


def _changed_errors(new: KubeObject, old: KubeObject) -> Errors:
    now, then = deepcopy(new["spec"]), deepcopy(old["spec"])
    bound = new.get("status", {}).get("phase") == "Bound"
    if not then.get("volumeName") and "volumeName" in now:
        then["volumeName"] = now["volumeName"]
    # Let a class be named that was not, and one that an annotation named.
    written = new["metadata"].get("annotations", {}).get(_CLASS_KEY)
    before = old["metadata"].get("annotations", {}).get(_CLASS_KEY)
    name, class_former = now.get("storageClassName"), then.get("storageClassName")
    if before is not None and class_former is None and name == before and written in (None, before):
        now.pop("storageClassName", None)
        found: Errors = []
    else:
        found = []
        if (written or "") != (before or ""):
            field = f"metadata.annotations.{_CLASS_KEY}"
            found = immutable(written or "", before or "", field)
        if name is not None and class_former is None and before in (None, name):
            now.pop("storageClassName", None)
    wanted, former = (
        each.get("resources", {}).get("requests", {}) for each in (new["spec"], old["spec"])
    )
    if bound:
        if now.get("resources", {}).get("requests") and "storage" in former:
            now["resources"]["requests"]["storage"] = former["storage"]
        now.pop("volumeAttributesClassName", None)
        then.pop("volumeAttributesClassName", None)
    if now != then:
        message = _IMMUTABLE_MESSAGE + difference(then, now, "core.PersistentVolumeClaimSpec")
        found.append(forbidden("spec", message))
    if _storage(wanted) < _storage(former):
        capacity = old.get("status", {}).get("capacity", {})
        if not _storage(capacity) < _storage(wanted):
            message = "field can not be less than status.capacity"
            found.append(forbidden("spec.resources.requests.storage", message))
    return found + immutable(now.get("volumeMode"), then.get("volumeMode"), "volumeMode")


def _amount_errors(amounts: Part, field: str) -> Errors:
    """Reject negative amounts; the message shows the number, not its text."""
    return [
        invalid(f"{field}[{name}]", parse_quantity(text).whole, "must be a valid resource quantity")
        for name, text in amounts.items()
        if parse_quantity(text).whole < 0
    ]


def _allocated_name_errors(name: str, field: str) -> Errors:
    found = [invalid(field, name, each) for each in qualified_name(name)]
    if not found and is_native(name) and name != "storage":
        return [not_supported(field, name, ("storage",))]
    return found


CLAIMS = PersistentVolumeClaims(KindOptions(has_status=True))
