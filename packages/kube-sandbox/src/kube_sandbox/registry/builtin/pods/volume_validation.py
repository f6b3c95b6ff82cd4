"""
Validation of the volumes of a pod and of their mounts.

Of the volumes of former cloud providers and storage systems only the names are checked.

Follows kubernetes 1.35 pkg/apis/core/validation/validation.go ValidateVolumes,
validateVolumeSource, ValidateVolumeMounts, ValidateVolumeDevices.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kube_objects.quantity import nanos
from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.field_validation import (
    Errors,
    by_rule,
    check_name,
    check_no_parent_steps,
    choice,
    descending,
    required_choice,
    unreserved,
)
from kube_sandbox.registry.builtin.persistent_volume_claims import claim_errors
from kube_sandbox.registry.builtin.pods.env_validation import field_reference, resource_reference
from kube_sandbox.registry.field_errors import (
    duplicate,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
    too_long,
)
from kube_sandbox.registry.name_validation import dns_label, dns_subdomain
from kube_sandbox.registry.object_meta import annotations, labels

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_HOST_PATH_TYPES = (
    *("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate"),
    *("File", "FileOrCreate", "Socket"),
)
_FILE_FIELDS = (
    *("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace"),
    "metadata.uid",
)
_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
_ONE = "may not specify more than 1 volume type"
_SHORTEST_TOKEN, _LONGEST_TOKEN = 600, 2**32
_OF_TEMPLATES = frozenset(("annotations", "labels"))

Check = Callable[[Mapping[str, Any], str], Errors]
_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")


def check_volumes(
    volumes: Sequence[KubeObject], at: str, pod_name: str, *, is_pod: bool
) -> tuple[dict[str, KubeObject], Errors]:
    """Return the valid volumes by name, and the errors of the others."""
    usable: dict[str, KubeObject] = {}
    found: Errors = []
    made = {f"{pod_name}-{each.get('name', '')}" for each in volumes if "ephemeral" in each}
    for index, volume in enumerate(volumes):
        where, name = f"{at}[{index}]", volume.get("name", "")
        sources = [source for source in _CHECKS if volume.get(source) is not None]
        errors: Errors = [] if sources else [required(where, "must specify a volume type")]
        if sources[:1] == ["image"] and is_pod and not volume["image"].get("reference"):
            errors.append(required(f"{where}.image.reference"))
        if sources:
            errors += _CHECKS[sources[0]](volume[sources[0]], f"{where}.{sources[0]}")
        if sources[:1] == ["ephemeral"] and pod_name and name:
            claim = f"{pod_name}-{name}"
            errors += [
                invalid(f"{where}.name", name, f'PVC name "{claim}": {each}')
                for each in dns_subdomain(claim)
            ]
        errors += [forbidden(f"{where}.{source}", _ONE) for source in sources[1:]]
        errors += check_name(name, f"{where}.name", dns_label)
        if name in usable:
            errors.append(duplicate(f"{where}.name", name))
        if not errors:
            usable[name] = volume
        found += errors
        claim = volume.get("persistentVolumeClaim", {}).get("claimName", "")
        if pod_name and claim in made:
            message = "must not reference a PVC that gets created for an ephemeral volume"
            found.append(invalid(f"{where}.persistentVolumeClaim.claimName", claim, message))
    return usable, found


def _with_items(name: str) -> Check:
    """Make a check of a volume whose files are keys of what `name` names."""

    def check(source: Mapping[str, Any], at: str) -> Errors:
        """Check a volume that projects keys into files: its name, its mode, each key."""
        errors: Errors = [] if source.get(name) else [required(f"{at}.{name}")]
        errors += _mode(source, "defaultMode", at)
        for index, item in enumerate(source.get("items", ())):
            errors += _key_to_path(item, f"{at}.items[{index}]")
        return errors

    return check


def _key_to_path(item: Mapping[str, Any], at: str) -> Errors:
    found = [required(f"{at}.{key}") for key in ("key", "path") if not item.get(key)]
    return found + unreserved(item.get("path", ""), f"{at}.path") + _mode(item, "mode", at)


def _mode(source: Mapping[str, Any], key: str, at: str) -> Errors:
    mode = source.get(key)
    if mode is None or 0 <= mode <= 0o777:
        return []
    return [invalid(f"{at}.{key}", mode, _MODE)]


def _downward_file(item: Mapping[str, Any], at: str) -> Errors:
    found = [] if item.get("path") else [required(f"{at}.path")]
    found += unreserved(item.get("path", ""), f"{at}.path")
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        found += field_reference(field, _FILE_FIELDS, f"{at}.fieldRef")
        if resource is not None:
            message = "fieldRef and resourceFieldRef can not be specified simultaneously"
            found.append(invalid(at, "resource", message))
    elif resource is not None:
        found += resource_reference(resource, f"{at}.resourceFieldRef", is_file=True)
    else:
        found.append(required(at, "one of fieldRef and resourceFieldRef is required"))
    return found + _mode(item, "mode", at)


def _projected(volume: Mapping[str, Any], at: str) -> Errors:
    found = _mode(volume, "defaultMode", at)
    paths: set[str] = set()
    for index, source in enumerate(volume.get("sources") or ()):
        where = f"{at}.sources[{index}]"
        for name in ("secret", "configMap"):
            if (part := source.get(name)) is not None:
                found += [] if part.get("name") else [required(f"{where}.{name}.name")]
                for at_item, item in enumerate(part.get("items", ())):
                    found += _key_to_path(item, f"{where}.{name}.items[{at_item}]")
                    found += _conflicts(item.get("path", ""), part.get("name", ""), at, paths)
        for item in source.get("downwardAPI", {}).get("items", ()):
            found += _downward_file(item, f"{where}.downwardAPI")
            found += _conflicts(item.get("path", ""), item.get("path", ""), at, paths)
        if (token := source.get("serviceAccountToken")) is not None:
            token_where = f"{where}.serviceAccountToken"
            seconds = token.get("expirationSeconds", 0)
            if seconds < _SHORTEST_TOKEN:
                message = "may not specify a duration less than 10 minutes"
                found.append(invalid(f"{token_where}.expirationSeconds", seconds, message))
            if seconds > _LONGEST_TOKEN:
                message = "may not specify a duration larger than 2^32 seconds"
                found.append(invalid(f"{token_where}.expirationSeconds", seconds, message))
            path = token.get("path", "")
            found += unreserved(path, f"{at}.path") if path else [required(f"{at}.path")]
        if len(source) > 1:
            found.append(forbidden(where, f"{_ONE} per source"))
    return found


def _conflicts(path: str, shown: str, at: str, paths: set[str]) -> Errors:
    if path and path in paths:
        return [invalid(at, shown, "conflicting duplicate paths")]
    paths.add(path)
    return []


def _csi(source: Mapping[str, Any], at: str) -> Errors:
    driver = source.get("driver", "")
    found: Errors = [] if driver else [required(f"{at}.driver")]
    if driver:
        if len(driver) > 63:
            found.append(too_long(f"{at}.driver", 63))
        found += [invalid(f"{at}.driver", driver, each) for each in dns_subdomain(driver.lower())]
    if (secret := source.get("nodePublishSecretRef")) is not None:
        name = secret.get("name", "")
        if not name:
            found.append(required(f"{at}.nodePublishSecretRef.name"))
        else:
            found += by_rule(name, f"{at}.name", dns_subdomain)
    return found


def _ephemeral(source: Mapping[str, Any], at: str) -> Errors:
    template = source.get("volumeClaimTemplate")
    where = f"{at}.volumeClaimTemplate"
    if template is None:
        return [required(where)]
    meta = template.get("metadata", {})
    found = annotations(meta.get("annotations"), f"{where}.metadata.annotations")
    found += labels(meta.get("labels"), f"{where}.metadata.labels")
    found += [
        forbidden(f"{where}.metadata.{key}", "cannot be set")
        for key in meta
        if key not in _OF_TEMPLATES
    ]
    return found + claim_errors(template.get("spec", {}), f"{where}.spec")


def _unchecked(source: Mapping[str, Any], at: str) -> Errors:
    return []


# In the order of validateVolumeSource: the first source is checked, all others are surplus.
_CHECKS: Mapping[str, Check] = {
    "emptyDir": lambda source, at: (
        [forbidden(f"{at}.sizeLimit", "SizeLimit field must be a valid resource quantity")]
        if nanos(source.get("sizeLimit", "0")) < 0
        else []
    ),
    "hostPath": lambda source, at: (
        [
            *check_no_parent_steps(source["path"], f"{at}.path"),
            *choice(source.get("type"), _HOST_PATH_TYPES, f"{at}.type"),
        ]
        if source.get("path")
        else [required(f"{at}.path")]
    ),
    "gitRepo": lambda source, at: [
        *([] if source.get("repository") else [required(f"{at}.repository")]),
        *descending(source.get("directory", ""), f"{at}.directory"),
    ],
    "gcePersistentDisk": _unchecked,
    "awsElasticBlockStore": _unchecked,
    "secret": _with_items("secretName"),
    "nfs": lambda source, at: [
        *(required(f"{at}.{key}") for key in ("server", "path") if not source.get(key)),
        *(
            []
            if source.get("path", "").startswith("/")
            else [invalid(f"{at}.path", source.get("path", ""), "must be an absolute path")]
        ),
    ],
    "iscsi": _unchecked,
    "glusterfs": _unchecked,
    "flocker": _unchecked,
    "persistentVolumeClaim": lambda source, at: (
        [] if source.get("claimName") else [required(f"{at}.claimName")]
    ),
    "rbd": _unchecked,
    "cinder": _unchecked,
    "cephfs": _unchecked,
    "quobyte": _unchecked,
    "downwardAPI": lambda source, at: [
        *_mode(source, "defaultMode", at),
        *(error for item in source.get("items", ()) for error in _downward_file(item, at)),
    ],
    "fc": _unchecked,
    "flexVolume": _unchecked,
    "configMap": _with_items("name"),
    "azureFile": _unchecked,
    "vsphereVolume": _unchecked,
    "photonPersistentDisk": _unchecked,
    "portworxVolume": _unchecked,
    "azureDisk": _unchecked,
    "storageos": _unchecked,
    "projected": _projected,
    "scaleIO": _unchecked,
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": lambda source, at: required_choice(
        source.get("pullPolicy"), PULL_POLICIES, f"{at}.pullPolicy"
    ),
}


def check_mounts(container: KubeObject, volumes: Mapping[str, KubeObject], at: str) -> Errors:
    """Return the errors in where a container finds its volumes."""
    found: Errors = []
    paths: set[str] = set()
    devices = {each.get("name", ""): each.get("devicePath") for each in _devices_of(container)}
    for index, mount in enumerate(container.get("volumeMounts", ())):
        where, name, path = f"{at}[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        found += [] if name else [required(f"{where}.name")]
        found += [] if name in volumes else [not_found(f"{where}.name", name)]
        found += [] if path else [required(f"{where}.mountPath")]
        if path in paths:
            found.append(invalid(f"{where}.mountPath", path, "must be unique"))
        paths.add(path)
        if name in devices:
            message = "must not already exist in volumeDevices"
            found.append(invalid(f"{where}.name", name, message))
        if path in devices.values():
            message = "must not already exist as a path in volumeDevices"
            found.append(invalid(f"{where}.mountPath", path, message))
        found += _mount_options(container, mount, where, at)
    return found


def _mount_options(container: KubeObject, mount: Mapping[str, Any], where: str, at: str) -> Errors:
    found: Errors = []
    sub_path, expression = mount.get("subPath", ""), mount.get("subPathExpr", "")
    if sub_path:
        found += descending(sub_path, f"{at}.subPath")
    if expression:
        if sub_path:
            message = "subPathExpr and subPath are mutually exclusive"
            found.append(invalid(f"{where}.subPathExpr", expression, message))
        found += descending(expression, f"{at}.subPathExpr")
    propagation = mount.get("mountPropagation")
    found += choice(propagation, _PROPAGATIONS, f"{at}.mountPropagation")
    is_privileged = (container.get("securityContext") or {}).get("privileged")
    if propagation == "Bidirectional" and not is_privileged:
        message = "Bidirectional mount propagation is available only to privileged containers"
        found.append(forbidden(f"{at}.mountPropagation", message))
    recursive_at = f"{at}.recursiveReadOnly"
    mode = mount.get("recursiveReadOnly")
    if mode in (None, "Disabled"):
        return found
    if mode not in ("Enabled", "IfPossible"):
        modes = ("Disabled", "Enabled", "IfPossible")
        return [*found, not_supported(recursive_at, mode, modes)]
    if not mount.get("readOnly"):
        found.append(forbidden(recursive_at, "may only be specified when readOnly is true"))
    if mount.get("mountPropagation", "None") != "None":
        message = "may only be specified when mountPropagation is None or not specified"
        found.append(forbidden(recursive_at, message))
    return found


def _devices_of(container: KubeObject) -> Sequence[Mapping[str, Any]]:
    devices: Sequence[Mapping[str, Any]] = container.get("volumeDevices", ())
    return devices


def check_devices(container: KubeObject, volumes: Mapping[str, KubeObject], at: str) -> Errors:
    """Return the errors in the volumes that a container has as raw devices."""
    found: Errors = []
    names: set[str] = set()
    paths: set[str] = set()
    mounts = {each.get("name"): each.get("mountPath") for each in container.get("volumeMounts", ())}
    for index, device in enumerate(_devices_of(container)):
        name, path = device.get("name", ""), device.get("devicePath", "")
        at_name, at_path = f"{at}[{index}].name", f"{at}[{index}].devicePath"
        found += [] if name else [required(at_name)]
        if name in names:
            found.append(invalid(at_name, name, "must be unique"))
        if name not in volumes:
            found.append(not_found(at_name, name))
        elif not volumes[name].keys() & {"persistentVolumeClaim", "ephemeral"}:
            message = (
                "can only use volume source type of PersistentVolumeClaim or Ephemeral "
                "for block mode"
            )
            found.append(invalid(at_name, name, message))
        found += [] if path else [required(at_path)]
        if path in paths:
            found.append(invalid(at_path, path, "must be unique"))
        if path and check_no_parent_steps(path, at):
            found.append(invalid(at_path, path, "can not contain backsteps ('..')"))
        else:
            paths.add(path)
        if name in mounts:
            found.append(invalid(at_name, name, "must not already exist in volumeMounts"))
        if path in mounts.values():
            message = "must not already exist as a path in volumeMounts"
            found.append(invalid(at_path, path, message))
        names |= {name} if name else set()
    return found
