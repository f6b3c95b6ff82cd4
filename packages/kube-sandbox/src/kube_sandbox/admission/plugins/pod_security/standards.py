"""
The Pod Security Standards as a table: which checks apply at which level, and since which version.

A standard is a level as of a minor version of Kubernetes. Of the rows with one name the last one
applies whose version is not later. Violations are reported in the order of the rows.

Follows kubernetes 1.35 k8s.io/pod-security-admission/policy/registry.go checkRegistry.EvaluatePod,
populate.
"""

from dataclasses import dataclass
from functools import cache

from kube_objects.refs import KubeObject
from kube_sandbox.admission.plugins.pod_security import baseline, restricted
from kube_sandbox.admission.plugins.pod_security.check_results import PodCheck, Violation
from kube_sandbox.admission.plugins.pod_security.restricted import (
    unless_user_namespace,
    unless_windows,
)

LEVELS = ("privileged", "baseline", "restricted")  # each includes those before it


@dataclass(frozen=True, slots=True)
class Standard:
    """A level as it was at a version 1.N; `None`: as it is now."""

    level: str = LEVELS[0]
    minor: int | None = None

    def __str__(self) -> str:
        return f"{self.level}:{'latest' if self.minor is None else f'v1.{self.minor}'}"

    @property
    def strictness(self) -> int:
        """Return the rank of the level; a higher one allows less."""
        return LEVELS.index(self.level)

    def may_reject_more_than(self, other: "Standard") -> bool:
        """Return whether a pod may meet the other standard and violate this one."""
        if self == other or not self.strictness:
            return False
        return self.minor != other.minor or self.strictness > other.strictness


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    since: int
    check: PodCheck
    instead_of: str = ""  # the baseline check that this one includes


_SYSCTLS = (
    *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies"),
    *("net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"),
)
_SYSCTLS_27 = (*_SYSCTLS, "net.ipv4.ip_local_reserved_ports")
_SYSCTLS_29 = (
    *(*_SYSCTLS_27, "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout"),
    *("net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes"),
)
_SYSCTLS_32 = (*_SYSCTLS_29, "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")
_TYPES = ("container_t", "container_init_t", "container_kvm_t")
_TYPES_31 = (*_TYPES, "container_engine_t")

_BASELINE = (
    _Row("appArmorProfile", 0, baseline.app_armor_profile),
    _Row("capabilities_baseline", 0, baseline.default_capabilities),
    _Row("hostNamespaces", 0, baseline.host_namespaces),
    _Row("hostPathVolumes", 0, baseline.host_path_volumes),
    _Row("hostPorts", 0, baseline.host_ports),
    _Row("hostProbesAndHostLifecycle", 34, baseline.hosts_of_handlers),
    _Row("privileged", 0, baseline.privileged),
    _Row("procMount", 0, baseline.proc_mount),
    _Row("procMount", 35, unless_user_namespace(baseline.proc_mount)),
    _Row("seLinuxOptions", 0, baseline.selinux_options(*_TYPES)),
    _Row("seLinuxOptions", 31, baseline.selinux_options(*_TYPES_31)),
    _Row("seccompProfile_baseline", 0, baseline.seccomp_annotations),
    _Row("seccompProfile_baseline", 19, baseline.seccomp_profile),
    _Row("sysctls", 0, baseline.sysctls(*_SYSCTLS)),
    _Row("sysctls", 27, baseline.sysctls(*_SYSCTLS_27)),
    _Row("sysctls", 29, baseline.sysctls(*_SYSCTLS_29)),
    _Row("sysctls", 32, baseline.sysctls(*_SYSCTLS_32)),
    _Row("windowsHostProcess", 0, baseline.windows_host_process),
)
_RESTRICTED = (
    _Row("allowPrivilegeEscalation", 8, restricted.privilege_escalation),
    _Row("allowPrivilegeEscalation", 25, unless_windows(restricted.privilege_escalation)),
    _Row("capabilities_restricted", 22, restricted.no_capabilities, "capabilities_baseline"),
    _Row(
        *("capabilities_restricted", 25, unless_windows(restricted.no_capabilities)),
        "capabilities_baseline",
    ),
    _Row("procMount_restricted", 35, baseline.proc_mount, "procMount"),
    _Row("restrictedVolumes", 0, restricted.volume_types, "hostPathVolumes"),
    _Row("runAsNonRoot", 0, restricted.run_as_non_root),
    _Row("runAsNonRoot", 35, unless_user_namespace(restricted.run_as_non_root)),
    _Row("runAsUser", 23, restricted.run_as_user),
    _Row("runAsUser", 35, unless_user_namespace(restricted.run_as_user)),
    _Row(
        *("seccompProfile_restricted", 19, restricted.seccomp_profile_set),
        "seccompProfile_baseline",
    ),
    _Row(
        *("seccompProfile_restricted", 25, unless_windows(restricted.seccomp_profile_set)),
        "seccompProfile_baseline",
    ),
)
_ROWS = {"privileged": (), "baseline": _BASELINE, "restricted": (*_BASELINE, *_RESTRICTED)}


_LAST = max(row.since for row in _ROWS["restricted"])


def violations(standard: Standard, metadata: KubeObject, spec: KubeObject) -> list[Violation]:
    """Return how a pod or a template violates a standard."""
    # Later versions are like the last known one.
    minor = _LAST if standard.minor is None else min(standard.minor, _LAST)
    found = (check(metadata, spec) for check in _checks(standard.level, minor))
    return [each for each in found if each is not None]


@cache
def _checks(level: str, minor: int) -> tuple[PodCheck, ...]:
    held = {row.name: row for row in _ROWS[level] if row.since <= minor}
    replaced = {row.instead_of for row in held.values()}
    return tuple(row.check for row in held.values() if row.name not in replaced)
