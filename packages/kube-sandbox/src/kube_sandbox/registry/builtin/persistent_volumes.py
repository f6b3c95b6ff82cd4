"""
PersistentVolume and StorageClass; of the source of a volume only its presence is checked.

Follows kubernetes 1.35 pkg/apis/core/validation/validation.go ValidatePersistentVolumeSpec,
ValidatePersistentVolumeUpdate; pkg/apis/storage/validation/validation.go ValidateStorageClass,
ValidateStorageClassUpdate.
"""

from collections.abc import Mapping
from typing import Any

from kube_objects.quantity import parse_quantity
from kube_objects.refs import KubeObject
from kube_objects.times import format_time
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy, KindOptions
from kube_sandbox.registry.builtin.persistent_volume_claims import VOLUME_MODES, mode_errors
from kube_sandbox.registry.builtin.resource_lists import round_up
from kube_sandbox.registry.field_errors import (
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from kube_sandbox.registry.name_validation import dns_subdomain, qualified_name
from kube_sandbox.registry.object_meta import immutable, label_key
from kube_sandbox.registry.strategy import Errors, RequestContext

_RECLAIM = ("Delete", "Recycle", "Retain")
# The sources there are, with what is filled in.
_SOURCES: dict[str, dict[str, Any]] = {
    "hostPath": {"type": ""},
    "gcePersistentDisk": {},
    "awsElasticBlockStore": {},
    "glusterfs": {},
    "flocker": {},
    "nfs": {},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "quobyte": {},
    "cephfs": {},
    "iscsi": {"iscsiInterface": "default"},
    "cinder": {},
    "fc": {},
    "flexVolume": {},
    "azureFile": {},
    "vsphereVolume": {},
    "photonPersistentDisk": {},
    "portworxVolume": {},
    "azureDisk": {
        "cachingMode": "ReadWrite",
        "fsType": "ext4",
        "readOnly": False,
        "kind": "Shared",
    },
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
    "local": {},
    "storageos": {},
    "csi": {},
}
# As messages spell it.
_DISPLAY_NAMES = {"cephfs": "cephFS"}
_MOST_PARAMETERS, _MOST_IN_PARAMETERS = 512, 256 * 1024

Part = Mapping[str, Any]


class PersistentVolumes(BaseStrategy):
    """Some storage."""

    def default(self, obj: KubeObject) -> None:
        """Hold a file system, and be kept."""
        spec = obj.setdefault("spec", {})
        spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
        spec.setdefault("volumeMode", "Filesystem")
        round_up(spec.get("capacity"))
        for name, filled in _SOURCES.items():
            for key, value in filled.items() if name in spec else ():
                if spec[name].get(key) is None:
                    spec[name][key] = value
        obj.setdefault("status", {}).setdefault("phase", "Pending")

    def first_status(self, obj: KubeObject, occasion: RequestContext) -> KubeObject:
        """Wait."""
        return {"phase": "Pending", "lastPhaseTransitionTime": format_time(occasion.now)}

    def prepare_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> None:
        """Note when the phase changes."""
        super().prepare_update(new, old, subresource, occasion)
        if subresource != "status":
            return
        status, before = new.setdefault("status", {}), old.get("status", {})
        key = "lastPhaseTransitionTime"
        if status.get("phase") == before.get("phase"):
            if key not in status and key in before:
                status[key] = before[key]
        elif status.get(key) in (None, before.get(key)):
            status[key] = format_time(occasion.now)

    def check(self, obj: KubeObject) -> Errors:
        """Validate size, use and source."""
        spec: Part = obj["spec"]
        modes = list(spec.get("accessModes", ()))
        found: Errors = [] if modes else [required("spec.accessModes")]
        found += mode_errors(modes, "spec.accessModes")
        capacity = spec.get("capacity", {})
        field = "spec.capacity"
        found += [] if capacity else [required(field)]
        if list(capacity) != ["storage"]:
            found.append(not_supported(field, dict(capacity) or None, ("storage",)))
        for name, text in capacity.items():
            if parse_quantity(text).whole < 0:
                message = "must be a valid resource quantity"
                found.append(invalid(f"{field}[{name}]", parse_quantity(text).whole, message))
            if parse_quantity(text).sign <= 0:
                found.append(invalid(f"{field}[{name}]", text, "must be greater than zero"))
        policy = spec.get("persistentVolumeReclaimPolicy", "")
        if policy not in _RECLAIM:
            found.append(not_supported("spec.persistentVolumeReclaimPolicy", policy, _RECLAIM))
        sources = [name for name in _SOURCES if name in spec]
        if not sources:
            found.append(required("spec", "must specify a volume type"))
        if "hostPath" in sources and not spec["hostPath"].get("path"):
            found.append(required("spec.hostPath.path"))
        message = "may not specify more than 1 volume type"
        # Upstream accepts one of them beside others.
        others = [name for name in sources[1:] if name != "flexVolume"]
        found += [forbidden(f"spec.{_DISPLAY_NAMES.get(name, name)}", message) for name in others]
        name, mode = spec.get("storageClassName", ""), spec.get("volumeMode")
        if name:
            where = "spec.storageClassName"
            found += [invalid(where, name, each) for each in dns_subdomain(name)]
        if mode not in VOLUME_MODES:
            found.append(not_supported("spec.volumeMode", mode, VOLUME_MODES))
        return found

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> Errors:
        """Validate a change; the source stays."""
        if subresource == "status":
            return self.changed_meta(new, old)
        errors_of_new = self.checked_meta(new) + self.check(new)
        spec, before = new["spec"], old["spec"]
        found = errors_of_new + errors_of_new
        if any(spec.get(name) != before.get(name) for name in _SOURCES):
            message = "spec.persistentvolumesource is immutable after creation\n"
            found.append(forbidden("spec.persistentvolumesource", message))
        return found + immutable(spec.get("volumeMode"), before.get("volumeMode"), "volumeMode")


class StorageClasses(BaseStrategy):
    """How storage is made."""

    def default(self, obj: KubeObject) -> None:
        """Be made at once, and not kept."""
        obj.setdefault("reclaimPolicy", "Delete")
        obj.setdefault("volumeBindingMode", "Immediate")

    def check(self, obj: KubeObject) -> Errors:
        """Validate maker and parameters."""
        maker, policy = obj.get("provisioner", ""), obj["reclaimPolicy"]
        found: Errors = []
        if not maker:
            found.append(required("provisioner"))
        else:
            wrong = qualified_name(maker.lower())
            found += [invalid("provisioner", maker.lower(), each) for each in wrong]
        parameters = obj.get("parameters", {})
        if len(parameters) > _MOST_PARAMETERS:
            found.append(too_long("parameters", _MOST_PARAMETERS))
        else:
            found += [
                invalid("parameters", "", "field can not be empty.")
                for key in parameters
                if not key
            ]
            size = sum(len(key.encode()) + len(value.encode()) for key, value in parameters.items())
            if size > _MOST_IN_PARAMETERS:
                found.append(too_long("parameters", _MOST_IN_PARAMETERS))
        if policy and policy not in ("Delete", "Retain"):
            found.append(not_supported("reclaimPolicy", policy, ("Delete", "Retain")))
        modes = ("Immediate", "WaitForFirstConsumer")
        if obj["volumeBindingMode"] not in modes:
            found.append(not_supported("volumeBindingMode", obj["volumeBindingMode"], modes))
        terms = obj.get("allowedTopologies", ())
        # One that asks for nothing is taken for a repetition of as many that ask for nothing.
        seen: list[dict[str, set[str]]] = [{} for _ in terms]
        for index, term in enumerate(terms):
            field = f"allowedTopologies[{index}].matchLabelExpressions"
            wanted: dict[str, set[str]] = {}
            for place, each in enumerate(term.get("matchLabelExpressions", ())):
                where = f"{field}[{place}]"
                key, values = each.get("key", ""), list(each.get("values") or ())
                found += [] if values else [required(f"{where}.values")]
                found += [
                    duplicate(f"{where}.values[{at}]", value)
                    for at, value in enumerate(values)
                    if value in values[:at]
                ]
                found += label_key(key, f"{where}.key")
                if key in wanted:
                    found.append(duplicate(f"{where}.key", key))
                wanted[key] = set(values)
            found += [duplicate(field, "")] * seen.count(wanted)
            seen.append(wanted)
        return found

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> Errors:
        """Validate a change: next to nothing may."""
        found = self.checked_meta(new) + self.check(new) + self.changed_meta(new, old)
        for part in ("parameters", "provisioner", "reclaimPolicy"):
            if new.get(part) != old.get(part):
                found.append(forbidden(part, f"updates to {part} are forbidden."))
        part = "volumeBindingMode"
        return found + immutable(new.get(part), old.get(part), part)


VOLUMES = PersistentVolumes(KindOptions(namespaced=False, has_status=True))
STORAGE_CLASSES = StorageClasses(KindOptions(namespaced=False))
