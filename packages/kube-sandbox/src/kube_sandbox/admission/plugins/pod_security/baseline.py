"""
The checks of the baseline Pod Security Standard: no access to the host.

Follows kubernetes 1.35 k8s.io/pod-security-admission/policy/check_appArmorProfile.go
CheckAppArmorProfile; k8s.io/pod-security-admission/policy/check_capabilities_baseline.go
CheckCapabilitiesBaseline; k8s.io/pod-security-admission/policy/check_hostNamespaces.go
CheckHostNamespaces; k8s.io/pod-security-admission/policy/check_hostPathVolumes.go
CheckHostPathVolumes; k8s.io/pod-security-admission/policy/check_hostPorts.go CheckHostPorts;
k8s.io/pod-security-admission/policy/check_hostProbesAndhostLifecycle.go
CheckHostProbesAndHostLifecycle; k8s.io/pod-security-admission/policy/check_privileged.go
CheckPrivileged; k8s.io/pod-security-admission/policy/check_procMount_baseline.go
CheckProcMountBaseline; k8s.io/pod-security-admission/policy/check_seLinuxOptions.go
CheckSELinuxOptions; k8s.io/pod-security-admission/policy/check_seccompProfile_baseline.go
CheckSeccompBaseline; k8s.io/pod-security-admission/policy/check_sysctls.go CheckSysctls;
k8s.io/pod-security-admission/policy/check_windowsHostProcess.go CheckWindowsHostProcess.
"""

from collections.abc import Mapping
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.admission.plugins.pod_security.check_results import (
    PodCheck,
    Violation,
    adding,
    containers_of,
    context_of,
    contexts,
    counted,
    format_containers,
    listed,
    setters,
    unsafe_profiles,
)
from kube_sandbox.registry.field_errors import quoted

_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_OF_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_OF_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_HOST = "probe or lifecycle host"
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_DEFAULT_CAPABILITIES = frozenset(
    (
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD"),
        *("NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    )
)


def app_armor_profile(metadata: KubeObject, spec: KubeObject) -> Violation | None:
    """Reject to go without an AppArmor profile."""
    who, values = unsafe_profiles(spec, "appArmorProfile")
    annotations = sorted(
        f"{key}={quoted(value)}"
        for key, value in (metadata.get("annotations") or {}).items()
        if key.startswith(_APP_ARMOR)
        and value not in ("", "runtime/default")
        and not value.startswith("localhost/")
    )
    if annotations:
        word = counted("annotation", "annotations", annotations)
        who, values = f"{who} and {word}" if who else word, values + annotations
    reason = counted("forbidden AppArmor profile", "forbidden AppArmor profiles", values)
    message = f"{who} must not set AppArmor profile type to {listed(values)}"
    return Violation(reason, message) if who else None


def default_capabilities(metadata: KubeObject, spec: KubeObject) -> Violation | None:
    """Reject capabilities beyond those that a container has by default."""
    message = adding(spec, _DEFAULT_CAPABILITIES)
    return Violation("non-default capabilities", message) if message else None


def host_namespaces(metadata: KubeObject, spec: KubeObject) -> Violation | None:
    """Reject the host's network, processes and shared memory."""
    found = [f"{each}=true" for each in ("hostNetwork", "hostPID", "hostIPC") if spec.get(each)]
    return Violation("host namespaces", ", ".join(found)) if found else None


def host_path_volumes(metadata: KubeObject, spec: KubeObject) -> Violation | None:
    """Reject paths of the host as volumes."""
    names = [each["name"] for each in spec.get("volumes") or () if "hostPath" in each]
    message = f"{counted('volume', 'volumes', names)} {listed(names)}"
    return Violation("hostPath volumes", message) if names else None


def host_ports(metadata: KubeObject, spec: KubeObject) -> Violation | None:
    """Reject ports of the host."""
    names, found = [], set()
    for container in containers_of(spec):
        ports = container.get("ports") or ()
        if used := {str(port["hostPort"]) for port in ports if port.get("hostPort")}:
            names.append(container["name"])
            found |= used
    verb, noun = counted("uses", "use", names), counted("hostPort", "hostPorts", found)
    message = f"{format_containers(names)} {verb} {noun} {', '.join(sorted(found))}"
    return Violation("hostPort", message) if names else None


def hosts_of_handlers(metadata: KubeObject, spec: KubeObject) -> Violation | None:
    """Reject probes and lifecycle handlers that ask another host than the pod."""
    found = set()
    for container in containers_of(spec):
        lifecycle = container.get("lifecycle") or {}
        handlers = [container.get(name) for name in _PROBES]
        handlers += [lifecycle.get(name) for name in ("postStart", "preStop")]
        for handler in filter(None, handlers):
            for action in ("httpGet", "tcpSocket"):
                if host := (handler.get(action) or {}).get("host"):
                    found.add((container["name"], host))
    names, hosts = sorted({name for name, _ in found}), sorted({host for _, host in found})
    verb, noun = counted("uses", "use", names), counted(_HOST, f"{_HOST}s", hosts)
    message = f"{format_containers(names)} {verb} {noun} {listed(hosts)}"
    return Violation(_HOST, message) if found else None


def privileged(metadata: KubeObject, spec: KubeObject) -> Violation | None:
    """Reject privileged containers."""
    names = [name for name, context in contexts(spec) if context.get("privileged")]
    message = f"{format_containers(names)} must not set securityContext.privileged=true"
    return Violation("privileged", message) if names else None


def proc_mount(metadata: KubeObject, spec: KubeObject) -> Violation | None:
    """Reject to show all of /proc."""
    mounts = [(name, context.get("procMount") or "Default") for name, context in contexts(spec)]
    found = [(name, mount) for name, mount in mounts if mount != "Default"]
    who = format_containers([name for name, _ in found])
    kinds = listed(sorted({mount for _, mount in found}))
    message = f"{who} must not set securityContext.procMount to {kinds}"
    return Violation("procMount", message) if found else None


def selinux_options(*types: str) -> PodCheck:
    """Return a check that rejects SELinux users, roles, and types other than these."""

    def bad_type(options: Mapping[str, Any]) -> str:
        kind: str = options.get("type", "")
        return "" if kind in types else kind

    def is_bad(options: Mapping[str, Any]) -> bool:
        return bool(bad_type(options) or options.get("user") or options.get("role"))

    def checked(metadata: KubeObject, spec: KubeObject) -> Violation | None:
        every = [("", context_of(spec)), *contexts(spec)]
        options = [(name, context.get("seLinuxOptions") or {}) for name, context in every]
        bad = [(name, each) for name, each in options if is_bad(each)]
        if not bad:
            return None
        names = [name for name, _ in bad if name]
        kinds = sorted({kind for _, each in bad if (kind := bad_type(each))})
        message = [f"{counted('type', 'types', kinds)} {listed(kinds)}"] if kinds else []
        fields = [name for name in ("user", "role") if any(each.get(name) for _, each in bad)]
        message += [f"{name} may not be set" for name in fields]
        who = setters(names, is_pod=len(names) < len(bad))
        opening = f"{who} set forbidden securityContext.seLinuxOptions"
        return Violation("seLinuxOptions", f"{opening}: {'; '.join(message)}")

    return checked


def seccomp_annotations(metadata: KubeObject, spec: KubeObject) -> Violation | None:
    """Reject to go without a seccomp profile, as was said before there was a field for it."""
    given = metadata.get("annotations") or {}
    keys = {_SECCOMP_OF_POD, *(_SECCOMP_OF_CONTAINER + one["name"] for one in containers_of(spec))}
    found = sorted(
        f"{key}={quoted(given[key])}"
        for key in keys & given.keys()
        if given[key] not in ("runtime/default", "docker/default")
        and not given[key].startswith("localhost/")
    )
    message = f"forbidden {counted('annotation', 'annotations', found)} {', '.join(found)}"
    return Violation("seccompProfile", message) if found else None


def seccomp_profile(metadata: KubeObject, spec: KubeObject) -> Violation | None:
    """Reject to go without a seccomp profile."""
    who, kinds = unsafe_profiles(spec, "seccompProfile")
    message = f"{who} must not set securityContext.seccompProfile.type to {listed(kinds)}"
    return Violation("seccompProfile", message) if who else None


def sysctls(*allowed: str) -> PodCheck:
    """Return a check that rejects settings of the kernel other than these."""

    def checked(metadata: KubeObject, spec: KubeObject) -> Violation | None:
        given = [each["name"] for each in context_of(spec).get("sysctls") or ()]
        found = [name for name in given if name not in allowed]
        return Violation("forbidden sysctls", ", ".join(found)) if found else None

    return checked


def windows_host_process(metadata: KubeObject, spec: KubeObject) -> Violation | None:
    """Reject containers that are processes of a Windows host."""

    def is_bad(context: Mapping[str, Any]) -> bool:
        return bool((context.get("windowsOptions") or {}).get("hostProcess"))

    names = [name for name, context in contexts(spec) if is_bad(context)]
    who = setters(names, is_pod=is_bad(context_of(spec)))
    message = f"{who} must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", message) if who else None
