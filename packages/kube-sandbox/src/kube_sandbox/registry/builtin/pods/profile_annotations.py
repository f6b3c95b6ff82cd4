"""
Seccomp and AppArmor annotations, which the fields of the security context replaced.

Seccomp annotations have no effect any more; AppArmor annotations become fields of a new pod.

Follows kubernetes 1.35 pkg/apis/core/validation/validation.go ValidateAppArmorPodAnnotations,
ValidateSeccompPodAnnotations, validateAppArmorAnnotationsAndFieldsMatchOnCreate;
pkg/registry/core/pod/strategy.go applyAppArmorVersionSkew.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.field_validation import Errors, descending
from kube_sandbox.registry.builtin.pods.security_context_validation import (
    check_app_armor,
    containers_of,
)
from kube_sandbox.registry.field_errors import forbidden, invalid, quoted

_POD = "seccomp.security.alpha.kubernetes.io/pod"
_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_LOCAL = "localhost/"
_PROFILE_TYPES = {"unconfined": "Unconfined", "runtime/default": "RuntimeDefault"}
_SECCOMP_PROFILE_TYPES = {**_PROFILE_TYPES, "docker/default": "RuntimeDefault"}

Profile = Mapping[str, Any]


def check_profile_annotations(
    values: Mapping[str, str], spec: Mapping[str, Any], at: str
) -> Errors:
    """Return which annotations do not name a profile, or one of no container."""
    found: Errors = []
    for key in (_POD, *(key for key in values if key.startswith(_CONTAINER))):
        if key in values:
            seccomp_value = values[key]
            if seccomp_value not in _SECCOMP_PROFILE_TYPES:
                if seccomp_value.startswith(_LOCAL):
                    found += descending(seccomp_value.removeprefix(_LOCAL), f"{at}.{key}")
                else:
                    found.append(
                        invalid(f"{at}.{key}", seccomp_value, "must be a valid seccomp profile")
                    )
    names = {container.get("name") for container, _ in containers_of(dict(spec), "")}
    for key, value in values.items():
        if not key.startswith(_APP_ARMOR):
            continue
        name = key.removeprefix(_APP_ARMOR)
        if name not in names:
            found.append(invalid(f"{at}[{key}]", name, "container not found"))
        if value and value not in _PROFILE_TYPES and not value.startswith(_LOCAL):
            message = f"invalid AppArmor profile name: {quoted(value)}"
            found.append(invalid(f"{at}[{key}]", value, message))
    return found


def check_same_profiles(meta: Mapping[str, Any], spec: KubeObject, at: str) -> Errors:
    """Return which profiles are not those that annotations name, too."""
    values = meta.get("annotations") or {}
    if not values:
        return []
    containers = list(containers_of(spec, at))
    of_pod = _profile(spec, "seccompProfile")
    found = _compare(of_pod, values.get(_POD), f"{at}.securityContext", "seccomp")
    for container, where in containers:
        profile = _profile(container, "seccompProfile")
        value = values.get(f"{_CONTAINER}{container.get('name')}")
        found += _compare(profile, value, f"{where}.securityContext", "seccomp")
    if (spec.get("os") or {}).get("name") == "windows":
        return found
    for container, where in containers:
        profile = _profile(container, "appArmorProfile") or _profile(spec, "appArmorProfile")
        value = values.get(f"{_APP_ARMOR}{container.get('name')}")
        found += _compare(profile, value, f"{where}.securityContext", "apparmor")
    return found


def _profile(one: Mapping[str, Any], field: str) -> Profile | None:
    found: Profile | None = (one.get("securityContext") or {}).get(field)
    return found


def _compare(profile: Profile | None, value: str | None, at: str, system: str) -> Errors:
    if profile is None or value is None:
        return []
    is_seccomp = system == "seccomp"
    where = f"{at}.{'seccompProfile' if is_seccomp else 'appArmorProfile'}"
    sorts = _SECCOMP_PROFILE_TYPES if is_seccomp else _PROFILE_TYPES
    sort = "Localhost" if value.startswith(_LOCAL) else sorts.get(value)
    if sort != profile.get("type"):
        message = f"{system} type in annotation and field must match"
        return [forbidden(f"{where}.type", message)]
    if sort == "Localhost" and value.removeprefix(_LOCAL) != profile.get("localhostProfile"):
        message = f"{system} profile in annotation and field must match"
        return [forbidden(f"{where}.localhostProfile", message)]
    return []


def check_profile_changes(after: Mapping[str, str], before: Mapping[str, str], at: str) -> Errors:
    """Return which annotations of a pod that is there may not change."""
    gone = [key for key, value in before.items() if after.get(key) != value]
    new = [key for key in after if key not in before]
    return [
        *(
            forbidden(f"{at}[{key}]", "may not remove or update AppArmor annotations")
            for key in gone
            if key.startswith(_APP_ARMOR)
        ),
        *(
            forbidden(f"{at}[{key}]", "may not add AppArmor annotations")
            for key in new
            if key.startswith(_APP_ARMOR)
        ),
    ]


def set_app_armor_from_annotations(pod: KubeObject) -> None:
    """Give containers of a new pod the AppArmor profiles that annotations name."""
    values, spec = pod["metadata"].get("annotations") or {}, pod["spec"]
    if not values or (spec.get("os") or {}).get("name") == "windows":
        return
    for container, _ in containers_of(spec, ""):
        value = values.get(f"{_APP_ARMOR}{container.get('name')}")
        if value is None or _profile(container, "appArmorProfile") is not None:
            continue
        profile = _named(value)
        if profile is not None and profile != _profile(spec, "appArmorProfile"):
            context = container.get("securityContext") or {}
            container["securityContext"] = {**context, "appArmorProfile": profile}


def _named(value: str) -> KubeObject | None:
    """Return the profile that an annotation names, if it is one."""
    if value in _PROFILE_TYPES:
        return {"type": _PROFILE_TYPES[value]}
    profile = {"type": "Localhost", "localhostProfile": value.removeprefix(_LOCAL)}
    is_one = value.startswith(_LOCAL) and not check_app_armor(profile, "")
    return profile if is_one else None


def pod_profile_warnings(
    meta: Mapping[str, Any], spec: Mapping[str, Any], prefix: str
) -> Iterator[str]:
    """Warn of an annotation for the whole pod that does nothing."""
    if _POD in (meta.get("annotations") or ()) and _profile(spec, "seccompProfile") is None:
        yield _no_effect_warning(prefix, _POD)


def container_profile_warnings(
    container: Mapping[str, Any], meta: Mapping[str, Any], spec: Mapping[str, Any], prefix: str
) -> Iterator[str]:
    """Warn of annotations for a container that do nothing, or will not for long."""
    values, name = meta.get("annotations") or {}, container.get("name")
    key = f"{_CONTAINER}{name}"
    if key in values and _profile(container, "seccompProfile") is None:
        yield _no_effect_warning(prefix, key)
    key = f"{_APP_ARMOR}{name}"
    if not prefix or key not in values or _profile(container, "appArmorProfile") is not None:
        return  # a pod has got its profile
    of_pod = _profile(spec, "appArmorProfile")
    if of_pod is None or of_pod != _named(values[key]):
        message = 'deprecated since v1.30; use the "appArmorProfile" field instead'
        yield f"{prefix}metadata.annotations[{key}]: {message}"


def _no_effect_warning(prefix: str, key: str) -> str:
    message = 'non-functional in v1.27+; use the "seccompProfile" field instead'
    return f"{prefix}metadata.annotations[{key}]: {message}"
