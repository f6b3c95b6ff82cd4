"""
Validation of a container's environment: variables and the sources of their values.

Follows kubernetes 1.35 pkg/apis/core/validation/validation.go ValidateEnv,
validateEnvVarValueFrom, ValidateEnvFrom.
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
    """Return the errors in variables."""
    found: Errors = []
    for index, variable in enumerate(variables):
        where = f"{at}[{index}]"
        found += check_name(variable.get("name", ""), f"{where}.name", relaxed_env_var_name)
        if (source := variable.get("valueFrom")) is not None:
            has_value = bool(variable.get("value"))
            value_at = f"{where}.valueFrom"
            if (field := source.get("fieldRef")) is not None:
                found += field_reference(field, _ENV_FIELDS, f"{value_at}.fieldRef")
            if (resource := source.get("resourceFieldRef")) is not None:
                found += resource_reference(resource, f"{value_at}.resourceFieldRef", is_file=False)
            for name in ("configMapKeyRef", "secretKeyRef"):
                if (key := source.get(name)) is not None:
                    found += by_rule(key.get("name", ""), f"{value_at}.{name}.name", dns_subdomain)
                    found += check_name(key.get("key", ""), f"{value_at}.{name}.key", config_key)
            if (file := source.get("fileKeyRef")) is not None:
                file_at = f"{value_at}.fileKeyRef"
                found += check_name(file.get("key", ""), f"{file_at}.key", relaxed_env_var_name)
                found += check_name(file.get("volumeName", ""), f"{file_at}.volumeName", dns_label)
                if path := file.get("path"):
                    found += check_no_parent_steps(path, f"{file_at}.path")
                else:
                    found.append(required(f"{file_at}.path"))
            if not source:
                found.append(invalid(value_at, "", _ONE_OF))
            elif has_value:
                found.append(
                    invalid(value_at, "", "may not be specified when `value` is not empty")
                )
            elif len(source) > 1:
                found.append(
                    invalid(value_at, "", "may not have more than one field specified at a time")
                )
    return found


def field_reference(field: Mapping[str, Any], supported: Iterable[str], at: str) -> Errors:
    """Return the errors in a reference to a field of the pod."""
    for name in ("apiVersion", "fieldPath"):
        if not field.get(name):
            return [required(f"{at}.{name}")]
    path = field["fieldPath"]
    match = _SUBSCRIPT.fullmatch(path)
    where = f"{at}.fieldPath"
    if field["apiVersion"] != "v1":
        message = f"error converting fieldPath: unsupported pod version: {field['apiVersion']}"
        return [invalid(where, path, message)]
    if match:
        base, key = match.groups()
        if base not in ("metadata.annotations", "metadata.labels"):
            message = f"error converting fieldPath: field label does not support subscript: {path}"
            return [invalid(where, path, message)]
        return by_rule(key.lower() if base == "metadata.annotations" else key, at, qualified_name)
    if path == "spec.host":
        path = "spec.nodeName"
    if path not in _POD_FIELDS:
        message = f"error converting fieldPath: field label not supported: {path}"
        return [invalid(where, path, message)]
    return choice(path, supported, where)


def resource_reference(resource: Mapping[str, Any], at: str, *, is_file: bool) -> Errors:
    """Return the errors in a reference to an amount of a container's resources."""
    name = resource.get("resource", "")
    found: Errors = []
    if is_file and not resource.get("containerName"):
        found.append(required(f"{at}.containerName"))
    elif not name:
        found.append(required(f"{at}.resource"))
    elif name not in _RESOURCES and not name.startswith(_HUGE_PAGES):
        found.append(not_supported(f"{at}.resource", name, _RESOURCES))
    divisor = resource.get("divisor", "0")
    if not nanos(divisor):
        return found
    if name.endswith(".cpu"):
        if divisor not in ("1m", "1"):
            message = "only divisor's values 1m and 1 are supported with the cpu resource"
            found.append(invalid(f"{at}.divisor", name, message))
        return found
    known = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}
    word = known.get(name.partition(".")[2], "hugepages" if name.startswith(_HUGE_PAGES) else "")
    if word and divisor not in _SIZES:
        message = (
            f"only divisor's values {', '.join(_SIZES)} are supported with the {word} resource"
        )
        found.append(invalid(f"{at}.divisor", name, message))
    return found


def check_env_from(sources: Iterable[KubeObject], at: str) -> Errors:
    """Return the errors in objects whose keys become variables."""
    found: Errors = []
    for index, source in enumerate(sources):
        where = f"{at}[{index}]"
        if prefix := source.get("prefix"):
            found += by_rule(prefix, f"{where}.prefix", relaxed_env_var_name)
        given = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
        for name in given:
            reference, where_name = source[name].get("name", ""), f"{where}.{name}.name"
            found += check_name(reference, where_name, lambda text: name_is_subdomain(text, True))
        if not given:
            found.append(invalid(at, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(given) > 1:
            found.append(invalid(at, "", "may not have more than one field specified at a time"))
    return found
