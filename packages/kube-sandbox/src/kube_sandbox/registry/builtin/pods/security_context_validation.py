"""
Validation of the security contexts of pods and containers.

Privileged containers are accepted, as on every cluster that runs its own network.

Follows kubernetes 1.35 pkg/apis/core/validation/validation.go validatePodSpecSecurityContext,
ValidateSecurityContext, validateSysctls, validateLinux, validateWindows.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.field_validation import (
    Errors,
    choice,
    descending,
    required_choice,
    user_or_group,
)
from kube_sandbox.registry.builtin.internal_json import format_internal
from kube_sandbox.registry.builtin.pods.defaults import CONTAINER_LISTS
from kube_sandbox.registry.field_errors import (
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)

_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_SYSCTL_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"^({_SYSCTL_SEGMENT}[\./])*{_SYSCTL_SEGMENT}$"
_SYSCTL_FORM = re.compile(_SYSCTL)
_MAX_SYSCTL_LENGTH = 253
_MAX_PROFILE_LENGTH = 4095
_IPC_SYSCTLS = ("kernel.shm", "kernel.msg", "fs.mqueue.")
_NOT_FOR_WINDOWS = "cannot be set for a windows pod"
_POD_FIELDS_OF_LINUX = (
    *("appArmorProfile", "seLinuxOptions", "hostUsers", "hostPID", "hostIPC", "seccompProfile"),
    *("fsGroup", "fsGroupChangePolicy", "sysctls", "shareProcessNamespace", "runAsUser"),
    *("runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy"),
)
_OF_SPEC = frozenset(("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"))
_CONTAINER_FIELDS_OF_LINUX = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities"),
    *("readOnlyRootFilesystem", "privileged", "allowPrivilegeEscalation", "procMount"),
    *("runAsUser", "runAsGroup"),
)


def containers_of(spec: KubeObject, at: str) -> Iterator[tuple[KubeObject, str]]:
    """Return every container with where it is, init containers first."""
    for name in CONTAINER_LISTS:
        for index, container in enumerate(spec.get(name) or ()):
            yield container, f"{at}.{name}[{index}]"


def check_pod_security(spec: KubeObject, at: str) -> Errors:
    """Return the errors in the security context of a pod."""
    context, where = spec.get("securityContext") or {}, f"{at}.securityContext"
    found: Errors = []
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        found += user_or_group(context.get(name), f"{where}.{name}")
    for index, group in enumerate(context.get("supplementalGroups", ())):
        found += user_or_group(group, f"{where}.supplementalGroups[{index}]")
    if spec.get("hostPID") and spec.get("shareProcessNamespace"):
        message = "ShareProcessNamespace and HostPID cannot both be enabled"
        found.append(invalid(f"{where}.shareProcessNamespace", True, message))
    if sysctls := context.get("sysctls"):
        seen: set[str] = set()
        for index, sysctl in enumerate(sysctls):
            name, sysctls_where = sysctl.get("name", ""), f"{where}.sysctls[{index}].name"
            if not name:
                found.append(required(sysctls_where))
            elif len(name) > _MAX_SYSCTL_LENGTH or not _SYSCTL_FORM.match(name):
                message = (
                    f"must have at most {_MAX_SYSCTL_LENGTH} characters and match regex {_SYSCTL}"
                )
                found.append(invalid(sysctls_where, name, message))
            elif name in seen:
                found.append(duplicate(sysctls_where, name))
            plain = name.replace("/", ".")
            if spec.get("hostNetwork") and plain.startswith("net."):
                message = "may not be specified when 'hostNetwork' is true"
                found.append(invalid(sysctls_where, name, message))
            elif spec.get("hostIPC") and (plain.startswith(_IPC_SYSCTLS) or plain == "kernel.sem"):
                found.append(
                    invalid(sysctls_where, name, "may not be specified when 'hostIPC' is true")
                )
            seen.add(name)
    policies = ("Always", "OnRootMismatch")
    found += choice(context.get("fsGroupChangePolicy"), policies, f"{where}.fsGroupChangePolicy")
    found += _seccomp(context.get("seccompProfile"), f"{where}.seccompProfile")
    found += check_app_armor(context.get("appArmorProfile"), f"{where}.appArmorProfile")
    policy = context.get("supplementalGroupsPolicy")
    found += choice(policy, ("Merge", "Strict"), f"{where}.supplementalGroupsPolicy")
    policy = context.get("seLinuxChangePolicy")
    return found + choice(policy, ("Recursive",), f"{where}.seLinuxChangePolicy")


def _seccomp(profile: Mapping[str, Any] | None, at: str) -> Errors:
    if profile is None:
        return []
    sort = profile.get("type", "")
    if not sort:
        found = [required(f"{at}.type", "type is required when seccompProfile is set")]
    else:
        found = choice(sort, _PROFILES, f"{at}.type")
    local, where = profile.get("localhostProfile"), f"{at}.localhostProfile"
    if sort == "Localhost":
        if local is None:
            return [*found, required(where, "must be set when seccomp type is Localhost")]
        return found + descending(local, where)
    if local is not None:
        shown = format_internal(profile, "core.SeccompProfile")
        found.append(invalid(where, shown, "can only be set when seccomp type is Localhost"))
    return found


def check_app_armor(profile: Mapping[str, Any] | None, at: str) -> Errors:
    """Return the errors in an AppArmor profile."""
    if profile is None:
        return []
    sort, local = profile.get("type", ""), profile.get("localhostProfile")
    where = f"{at}.localhostProfile"
    if sort == "Localhost":
        if local is None or not local:
            return [required(where, "must be set when AppArmor type is Localhost")]
        found: Errors = []
        if local != local.strip():
            found.append(invalid(where, local, "must not be padded with whitespace"))
        if len(local.encode()) > _MAX_PROFILE_LENGTH:
            found.append(too_long(where, _MAX_PROFILE_LENGTH))
        return found
    if not sort:
        return [required(f"{at}.type", "type is required when appArmorProfile is set")]
    if sort not in _PROFILES:
        return [not_supported(f"{at}.type", sort, _PROFILES)]
    message = "can only be set when AppArmor type is Localhost"
    return [] if local is None else [invalid(where, local, message)]


def check_container_security(
    context: Mapping[str, Any] | None, at: str, *, on_host: bool
) -> Errors:
    """Return the errors in the security context of a container."""
    if not context:
        return []
    found: Errors = []
    for name in ("runAsUser", "runAsGroup"):
        found += user_or_group(context.get(name), f"{at}.{name}")
    mount = context.get("procMount")
    found += choice(mount, ("Default", "Unmasked"), f"{at}.procMount")
    if on_host and mount == "Unmasked":
        message = "`hostUsers` must be false to use `Unmasked`"
        found.append(invalid(f"{at}.procMount", mount, message))
    found += _seccomp(context.get("seccompProfile"), f"{at}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        shown = format_internal(context, "core.SecurityContext")
        opening = "cannot set `allowPrivilegeEscalation` to false and"
        if context.get("privileged"):
            found.append(invalid(at, shown, f"{opening} `privileged` to true"))
        if "CAP_SYS_ADMIN" in context.get("capabilities", {}).get("add", ()):
            found.append(invalid(at, shown, f"{opening} `capabilities.Add` CAP_SYS_ADMIN"))
    return found + check_app_armor(context.get("appArmorProfile"), f"{at}.appArmorProfile")


def check_host_users(spec: KubeObject, at: str) -> Errors:
    """Return what a pod cannot have that has users of its own."""
    if spec.get("hostUsers", True):
        return []
    message = "when `hostUsers` is false"
    names = (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC"))
    found = [forbidden(f"{at}.{shown}", message) for name, shown in names if spec.get(name)]
    for container, where in containers_of(spec, at):
        if container.get("volumeDevices"):
            found.append(forbidden(f"{where}.volumeDevices", message))
    return found


def check_os(spec: KubeObject, at: str) -> Errors:
    """Return what a pod cannot have on the operating system it is for."""
    system = spec.get("os")
    if system is None:
        return []
    name = system.get("name", "")
    if not name:
        return required_choice(name, (), f"{at}.os.name")
    if name not in ("linux", "windows"):
        return [not_supported(f"{at}.os", name, ("linux", "windows"))]
    if name != "linux":
        context = spec.get("securityContext") or {}
        on_windows: Errors = []
        for name in _POD_FIELDS_OF_LINUX:
            owner, where = (spec, at) if name in _OF_SPEC else (context, f"{at}.securityContext")
            if name in owner:
                on_windows.append(forbidden(f"{where}.{name}", _NOT_FOR_WINDOWS))
        for container, where in containers_of(spec, at):
            given = container.get("securityContext") or {}
            on_windows += [
                forbidden(f"{where}.securityContext.{name}", _NOT_FOR_WINDOWS)
                for name in _CONTAINER_FIELDS_OF_LINUX
                if name in given
            ]
        return on_windows
    message = "windows options cannot be set for a linux pod"
    found: Errors = []
    for owner, where in ((spec, at), *containers_of(spec, at)):
        if "windowsOptions" in (owner.get("securityContext") or {}):
            found.append(forbidden(f"{where}.securityContext.windowsOptions", message))
    return found
