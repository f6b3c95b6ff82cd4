"""
What is wrong with the volumes of a pod.

Of the volumes of former cloud providers and storage systems only the names are checked.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
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
from kube_sandbox.registry.field_errors import duplicate, forbidden, invalid, required, too_long
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


def check_volumes(
    volumes: Sequence[KubeObject], at: str, pod_name: str, *, is_pod: bool
) -> tuple[dict[str, KubeObject], Errors]:
    """Return the volumes that can be mounted, by name, and what is wrong with the others."""
    usable: dict[str, KubeObject] = {}
    found: Errors = []
    made = {f"{pod_name}-{each.get('name', '')}" for each in volumes if "ephemeral" in each}
    for index, volume in enumerate(volumes):
        where, name = f"{at}[{index}]", volume.get("name", "")
        errors = _source(volume, where, pod_name, is_pod=is_pod)
        errors += check_name(name, f"{where}.name", dns_label)
        if name in usable:
            errors.append(duplicate(f"{where}.name", name))
        if not errors:
            usable[name] = volume
        found += errors
        claim = volume.get("persistentVolumeClaim", {}).get("claimName", "")
        if pod_name and claim in made:
            told = "must not reference a PVC that gets created for an ephemeral volume"
            found.append(invalid(f"{where}.persistentVolumeClaim.claimName", claim, told))
    return usable, found


def _source(volume: Mapping[str, Any], at: str, pod_name: str, *, is_pod: bool) -> Errors:
    found: Errors = []
    count = 0
    for name, check in _CHECKS.items():
        source = volume.get(name)
        if source is None:
            continue
        if count:
            found.append(forbidden(f"{at}.{name}", _ONE))
            continue
        count += 1
        found += check(source, f"{at}.{name}")
        if name == "ephemeral":
            found += _claim_name(pod_name, volume.get("name", ""), at)
        elif name == "image" and is_pod and not source.get("reference"):
            found.insert(0, required(f"{at}.image.reference"))
    return found if count else [required(at, "must specify a volume type")]


def _claim_name(pod_name: str, name: str, at: str) -> Errors:
    if not pod_name or not name:
        return []
    claim = f"{pod_name}-{name}"
    return [
        invalid(f"{at}.name", name, f'PVC name "{claim}": {each}') for each in dns_subdomain(claim)
    ]


def _empty_dir(source: Mapping[str, Any], at: str) -> Errors:
    if nanos(source.get("sizeLimit", "0")) < 0:
        return [forbidden(f"{at}.sizeLimit", "SizeLimit field must be a valid resource quantity")]
    return []


def _host_path(source: Mapping[str, Any], at: str) -> Errors:
    path = source.get("path", "")
    if not path:
        return [required(f"{at}.path")]
    found = check_no_parent_steps(path, f"{at}.path")
    return found + choice(source.get("type"), _HOST_PATH_TYPES, f"{at}.type")


def _git_repo(source: Mapping[str, Any], at: str) -> Errors:
    found = [] if source.get("repository") else [required(f"{at}.repository")]
    return found + descending(source.get("directory", ""), f"{at}.directory")


def _with_items(name: str) -> Check:
    """Make a check of a volume whose files are keys of what `name` names."""

    def check(source: Mapping[str, Any], at: str) -> Errors:
        found = [] if source.get(name) else [required(f"{at}.{name}")]
        return found + _mode(source, "defaultMode", at) + _keys(source.get("items", ()), at)

    return check


def _mode(source: Mapping[str, Any], key: str, at: str) -> Errors:
    mode = source.get(key)
    if mode is None or 0 <= mode <= 0o777:
        return []
    return [invalid(f"{at}.{key}", mode, _MODE)]


def _keys(items: Iterable[Mapping[str, Any]], at: str) -> Errors:
    found: Errors = []
    for index, item in enumerate(items):
        where = f"{at}.items[{index}]"
        found += [required(f"{where}.{key}") for key in ("key", "path") if not item.get(key)]
        found += unreserved(item.get("path", ""), f"{where}.path") + _mode(item, "mode", where)
    return found


def _nfs(source: Mapping[str, Any], at: str) -> Errors:
    found = [required(f"{at}.{key}") for key in ("server", "path") if not source.get(key)]
    path = source.get("path", "")
    if not path.startswith("/"):
        found.append(invalid(f"{at}.path", path, "must be an absolute path"))
    return found


def _claim(source: Mapping[str, Any], at: str) -> Errors:
    return [] if source.get("claimName") else [required(f"{at}.claimName")]


def _downward(source: Mapping[str, Any], at: str) -> Errors:
    found = _mode(source, "defaultMode", at)
    for item in source.get("items", ()):
        found += _downward_file(item, at)
    return found


def _downward_file(item: Mapping[str, Any], at: str) -> Errors:
    found = [] if item.get("path") else [required(f"{at}.path")]
    found += unreserved(item.get("path", ""), f"{at}.path")
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        found += field_reference(field, _FILE_FIELDS, f"{at}.fieldRef")
        if resource is not None:
            told = "fieldRef and resourceFieldRef can not be specified simultaneously"
            found.append(invalid(at, "resource", told))
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
                found += _projected_keys(part, f"{where}.{name}", at, paths)
        for item in source.get("downwardAPI", {}).get("items", ()):
            found += _downward_file(item, f"{where}.downwardAPI")
            found += _conflicts(item.get("path", ""), item.get("path", ""), at, paths)
        if (token := source.get("serviceAccountToken")) is not None:
            found += _token(token, f"{where}.serviceAccountToken", at)
        if len(source) > 1:
            found.append(forbidden(where, f"{_ONE} per source"))
    return found


def _projected_keys(part: Mapping[str, Any], where: str, at: str, paths: set[str]) -> Errors:
    found = [] if part.get("name") else [required(f"{where}.name")]
    for index, item in enumerate(part.get("items", ())):
        found += [
            required(f"{where}.items[{index}].{key}")
            for key in ("key", "path")
            if not item.get(key)
        ]
        found += unreserved(item.get("path", ""), f"{where}.items[{index}].path")
        found += _mode(item, "mode", f"{where}.items[{index}]")
        found += _conflicts(item.get("path", ""), part.get("name", ""), at, paths)
    return found


def _conflicts(path: str, shown: str, at: str, paths: set[str]) -> Errors:
    if path and path in paths:
        return [invalid(at, shown, "conflicting duplicate paths")]
    paths.add(path)
    return []


def _token(token: Mapping[str, Any], where: str, at: str) -> Errors:
    seconds = token.get("expirationSeconds", 0)
    found: Errors = []
    if seconds < _SHORTEST_TOKEN:
        told = "may not specify a duration less than 10 minutes"
        found.append(invalid(f"{where}.expirationSeconds", seconds, told))
    if seconds > _LONGEST_TOKEN:
        told = "may not specify a duration larger than 2^32 seconds"
        found.append(invalid(f"{where}.expirationSeconds", seconds, told))
    path = token.get("path", "")
    return found + (unreserved(path, f"{at}.path") if path else [required(f"{at}.path")])


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


def _image(source: Mapping[str, Any], at: str) -> Errors:
    return required_choice(source.get("pullPolicy"), PULL_POLICIES, f"{at}.pullPolicy")


def _accept_any(source: Mapping[str, Any], at: str) -> Errors:
    return []


# In the order in which they are looked at: the first is the one that is meant.
_CHECKS: Mapping[str, Check] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "gitRepo": _git_repo,
    "gcePersistentDisk": _accept_any,
    "awsElasticBlockStore": _accept_any,
    "secret": _with_items("secretName"),
    "nfs": _nfs,
    "iscsi": _accept_any,
    "glusterfs": _accept_any,
    "flocker": _accept_any,
    "persistentVolumeClaim": _claim,
    "rbd": _accept_any,
    "cinder": _accept_any,
    "cephfs": _accept_any,
    "quobyte": _accept_any,
    "downwardAPI": _downward,
    "fc": _accept_any,
    "flexVolume": _accept_any,
    "configMap": _with_items("name"),
    "azureFile": _accept_any,
    "vsphereVolume": _accept_any,
    "photonPersistentDisk": _accept_any,
    "portworxVolume": _accept_any,
    "azureDisk": _accept_any,
    "storageos": _accept_any,
    "projected": _projected,
    "scaleIO": _accept_any,
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": _image,
}
