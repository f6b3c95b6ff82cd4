"""
What is wrong with how a container mounts volumes.

Follows kubernetes 1.35 pkg/apis/core/validation/validation.go ValidateVolumeMounts,
ValidateVolumeDevices.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.field_validation import (
    Errors,
    check_no_parent_steps,
    choice,
    descending,
)
from kube_sandbox.registry.field_errors import (
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
)

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")


def check_mounts(container: KubeObject, volumes: Mapping[str, KubeObject], at: str) -> Errors:
    """Return what is wrong with where a container finds its volumes."""
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
            told = "must not already exist in volumeDevices"
            found.append(invalid(f"{where}.name", name, told))
        if path in devices.values():
            told = "must not already exist as a path in volumeDevices"
            found.append(invalid(f"{where}.mountPath", path, told))
        found += _mount_options(container, mount, where, at)
    return found


def _mount_options(container: KubeObject, mount: Mapping[str, Any], where: str, at: str) -> Errors:
    found: Errors = []
    sub_path, expression = mount.get("subPath", ""), mount.get("subPathExpr", "")
    if sub_path:
        found += descending(sub_path, f"{at}.subPath")
    if expression:
        if sub_path:
            told = "subPathExpr and subPath are mutually exclusive"
            found.append(invalid(f"{where}.subPathExpr", expression, told))
        found += descending(expression, f"{at}.subPathExpr")
    propagation = mount.get("mountPropagation")
    found += choice(propagation, _PROPAGATIONS, f"{at}.mountPropagation")
    is_privileged = (container.get("securityContext") or {}).get("privileged")
    if propagation == "Bidirectional" and not is_privileged:
        told = "Bidirectional mount propagation is available only to privileged containers"
        found.append(forbidden(f"{at}.mountPropagation", told))
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
        told = "may only be specified when mountPropagation is None or not specified"
        found.append(forbidden(recursive_at, told))
    return found


def _devices_of(container: KubeObject) -> Sequence[Mapping[str, Any]]:
    devices: Sequence[Mapping[str, Any]] = container.get("volumeDevices", ())
    return devices


def check_devices(container: KubeObject, volumes: Mapping[str, KubeObject], at: str) -> Errors:
    """Return what is wrong with the volumes that a container has as raw devices."""
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
            told = (
                "can only use volume source type of PersistentVolumeClaim or Ephemeral "
                "for block mode"
            )
            found.append(invalid(at_name, name, told))
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
            told = "must not already exist as a path in volumeMounts"
            found.append(invalid(at_path, path, told))
        names |= {name} if name else set()
    return found
