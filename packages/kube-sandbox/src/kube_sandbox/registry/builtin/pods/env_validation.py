"""
What is wrong with the environment of a container: variables, and where they have values from.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from kube_objects.quantity import nanos
from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.field_validation import (
    Errors,
    by_rule,
    check_name,
    check_no_parent_steps,
    choice,
)
from kube_sandbox.registry.field_errors import invalid, not_supported, required
from kube_sandbox.registry.name_validation import (
    config_key,
    dns_label,
    dns_subdomain,
    name_is_subdomain,
    qualified_name,
    relaxed_env_var_name,
)

_ENV_FIELDS = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName"),
    *("spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP"),
    "status.podIPs",
)
_POD_FIELDS = frozenset(
    (
        *("metadata.annotations", "metadata.labels", *_ENV_FIELDS),
        *("spec.restartPolicy", "spec.schedulerName", "status.phase"),
    )
)
_RESOURCES = tuple(
    f"{part}.{name}"
    for part in ("limits", "requests")
    for name in ("cpu", "ephemeral-storage", "memory")
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_CPU_DIVISORS = ("1m", "1")
_SIZES = (
    "1",
    *(["1k", "1M", "1G", "1T", "1P", "1E"]),
    *(["1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"]),
)
_SUBSCRIPT = re.compile(r"(.*)\['(.*)'\]", re.DOTALL)
_ONE_OF = (
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` "
    "or `fileKeyRef`"
)


def check_env(variables: Iterable[KubeObject], at: str) -> Errors:
    """Return what is wrong with variables."""
    found: Errors = []
    for index, variable in enumerate(variables):
        where = f"{at}[{index}]"
        found += check_name(variable.get("name", ""), f"{where}.name", relaxed_env_var_name)
        if (source := variable.get("valueFrom")) is not None:
            found += _value_from(source, bool(variable.get("value")), f"{where}.valueFrom")
    return found


def _value_from(source: Mapping[str, Any], has_value: bool, at: str) -> Errors:
    found: Errors = []
    if (field := source.get("fieldRef")) is not None:
        found += field_reference(field, _ENV_FIELDS, f"{at}.fieldRef")
    if (resource := source.get("resourceFieldRef")) is not None:
        found += resource_reference(resource, f"{at}.resourceFieldRef", is_file=False)
    for name in ("configMapKeyRef", "secretKeyRef"):
        if (key := source.get(name)) is not None:
            found += by_rule(key.get("name", ""), f"{at}.{name}.name", dns_subdomain)
            found += check_name(key.get("key", ""), f"{at}.{name}.key", config_key)
    if (file := source.get("fileKeyRef")) is not None:
        found += _file_key(file, f"{at}.fileKeyRef")
    if not source:
        found.append(invalid(at, "", _ONE_OF))
    elif has_value:
        found.append(invalid(at, "", "may not be specified when `value` is not empty"))
    elif len(source) > 1:
        found.append(invalid(at, "", "may not have more than one field specified at a time"))
    return found


def _file_key(file: Mapping[str, Any], at: str) -> Errors:
    found = check_name(file.get("key", ""), f"{at}.key", relaxed_env_var_name)
    found += check_name(file.get("volumeName", ""), f"{at}.volumeName", dns_label)
    path = file.get("path", "")
    return found + (check_no_parent_steps(path, f"{at}.path") if path else [required(f"{at}.path")])


def field_reference(field: Mapping[str, Any], supported: Iterable[str], at: str) -> Errors:
    """Return what is wrong with a reference to a field of the pod."""
    for name in ("apiVersion", "fieldPath"):
        if not field.get(name):
            return [required(f"{at}.{name}")]
    path = field["fieldPath"]
    match = _SUBSCRIPT.fullmatch(path)
    where = f"{at}.fieldPath"
    if field["apiVersion"] != "v1":
        told = f"error converting fieldPath: unsupported pod version: {field['apiVersion']}"
        return [invalid(where, path, told)]
    if match:
        return _check_subscript(path, match[1], match[2], at)
    if path == "spec.host":
        path = "spec.nodeName"
    if path not in _POD_FIELDS:
        told = f"error converting fieldPath: field label not supported: {path}"
        return [invalid(where, path, told)]
    return choice(path, supported, where)


def _check_subscript(path: str, base: str, key: str, at: str) -> Errors:
    if base not in ("metadata.annotations", "metadata.labels"):
        told = f"error converting fieldPath: field label does not support subscript: {path}"
        return [invalid(f"{at}.fieldPath", path, told)]
    key = key.lower() if base == "metadata.annotations" else key
    return by_rule(key, at, qualified_name)


def resource_reference(resource: Mapping[str, Any], at: str, *, is_file: bool) -> Errors:
    """Return what is wrong with a reference to an amount of a container's resources."""
    name = resource.get("resource", "")
    found: Errors = []
    if is_file and not resource.get("containerName"):
        found.append(required(f"{at}.containerName"))
    elif not name:
        found.append(required(f"{at}.resource"))
    elif name not in _RESOURCES and not name.startswith(_HUGE_PAGES):
        found.append(not_supported(f"{at}.resource", name, _RESOURCES))
    return found + _divisor(name, resource.get("divisor", "0"), f"{at}.divisor")


def _divisor(name: str, divisor: str, at: str) -> Errors:
    if not nanos(divisor):
        return []
    if name.endswith(".cpu"):
        told = "only divisor's values 1m and 1 are supported with the cpu resource"
        return [] if divisor in _CPU_DIVISORS else [invalid(at, name, told)]
    known = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}
    word = known.get(name.partition(".")[2], "hugepages" if name.startswith(_HUGE_PAGES) else "")
    if not word or divisor in _SIZES:
        return []
    told = f"only divisor's values {', '.join(_SIZES)} are supported with the {word} resource"
    return [invalid(at, name, told)]


def check_env_from(sources: Iterable[KubeObject], at: str) -> Errors:
    """Return what is wrong with objects whose keys become variables."""
    found: Errors = []
    for index, source in enumerate(sources):
        where = f"{at}[{index}]"
        if prefix := source.get("prefix"):
            found += by_rule(prefix, f"{where}.prefix", relaxed_env_var_name)
        given = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
        for name in given:
            found += check_name(source[name].get("name", ""), f"{where}.{name}.name", _as_prefix)
        if not given:
            found.append(invalid(at, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(given) > 1:
            found.append(invalid(at, "", "may not have more than one field specified at a time"))
    return found


def _as_prefix(name: str) -> list[str]:
    return name_is_subdomain(name, True)
