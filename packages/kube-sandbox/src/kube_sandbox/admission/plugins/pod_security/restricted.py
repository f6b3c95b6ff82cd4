"""
The additional checks of the restricted Pod Security Standard: hardened containers.

Follows kubernetes 1.35 k8s.io/pod-security-admission/policy/check_allowPrivilegeEscalation.go
CheckAllowPrivilegeEscalation;
k8s.io/pod-security-admission/policy/check_capabilities_restricted.go CheckCapabilitiesRestricted;
k8s.io/pod-security-admission/policy/check_restrictedVolumes.go CheckRestrictedVolumes;
k8s.io/pod-security-admission/policy/check_runAsNonRoot.go CheckRunAsNonRoot;
k8s.io/pod-security-admission/policy/check_runAsUser.go CheckRunAsUser;
k8s.io/pod-security-admission/policy/check_seccompProfile_restricted.go
CheckSeccompProfileRestricted.
"""

from kube_objects.refs import KubeObject
from kube_sandbox.admission.plugins.pod_security.baseline import seccomp_profile
from kube_sandbox.admission.plugins.pod_security.check_results import (
    PodCheck,
    Violation,
    adding,
    context_of,
    contexts,
    counted,
    format_containers,
    listed,
    setters,
)

_ROOT = "runAsNonRoot != true"
_FREE_VOLUMES = frozenset(
    (
        *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image"),
        *("persistentVolumeClaim", "projected", "secret"),
    )
)
_OTHER_VOLUMES = frozenset(
    (
        *("hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi"),
        *("glusterfs", "rbd", "flexVolume", "cinder", "cephfs", "flocker", "fc", "azureFile"),
        *("vsphereVolume", "quobyte", "azureDisk", "photonPersistentDisk", "portworxVolume"),
        *("scaleIO", "storageos"),
    )
)


def unless_windows(check: PodCheck) -> PodCheck:
    """Let pods for Windows be, which cannot set what is asked for."""

    def checked(metadata: KubeObject, spec: KubeObject) -> Violation | None:
        is_windows = (spec.get("os") or {}).get("name") == "windows"
        return None if is_windows else check(metadata, spec)

    return checked


def unless_user_namespace(check: PodCheck) -> PodCheck:
    """Let pods be whose users are not those of the host."""

    def checked(metadata: KubeObject, spec: KubeObject) -> Violation | None:
        return None if spec.get("hostUsers") is False else check(metadata, spec)

    return checked


def privilege_escalation(metadata: KubeObject, spec: KubeObject) -> Violation | None:
    """Want containers whose processes cannot gain privileges."""
    names = [
        name
        for name, context in contexts(spec)
        if context.get("allowPrivilegeEscalation") is not False
    ]
    message = f"{format_containers(names)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", message) if names else None


def no_capabilities(metadata: KubeObject, spec: KubeObject) -> Violation | None:
    """Want containers without capabilities but to bind to low ports."""
    names = [
        name
        for name, context in contexts(spec)
        if "ALL" not in ((context.get("capabilities") or {}).get("drop") or ())
    ]
    message = []
    if names:
        message.append(
            f'{format_containers(names)} must set securityContext.capabilities.drop=["ALL"]'
        )
    if added := adding(spec, ("NET_BIND_SERVICE",)):
        message.append(added)
    return Violation("unrestricted capabilities", "; ".join(message)) if message else None


def volume_types(metadata: KubeObject, spec: KubeObject) -> Violation | None:
    """Reject volumes that name where they are."""
    found = [each for each in spec.get("volumes") or () if not each.keys() & _FREE_VOLUMES]
    names = [each["name"] for each in found]
    kinds = sorted(
        {next((key for key in each if key in _OTHER_VOLUMES), "unknown") for each in found}
    )
    verb = counted("uses", "use", names)
    noun = counted("restricted volume type", "restricted volume types", kinds)
    message = f"{counted('volume', 'volumes', names)} {listed(names)} {verb} {noun} {listed(kinds)}"
    return Violation("restricted volume types", message) if found else None


def run_as_non_root(metadata: KubeObject, spec: KubeObject) -> Violation | None:
    """Want containers that do not start as root."""
    of_pod = context_of(spec).get("runAsNonRoot")
    chosen = [(name, context.get("runAsNonRoot")) for name, context in contexts(spec)]
    refusing = [name for name, choice in chosen if choice is False]
    if who := setters(refusing, is_pod=of_pod is False):
        return Violation(_ROOT, f"{who} must not set securityContext.runAsNonRoot=false")
    silent = [name for name, choice in chosen if choice is None]
    if of_pod or not silent:
        return None
    message = f"pod or {format_containers(silent)} must set securityContext.runAsNonRoot=true"
    return Violation(_ROOT, message)


def run_as_user(metadata: KubeObject, spec: KubeObject) -> Violation | None:
    """Reject root as the user."""
    names = [name for name, context in contexts(spec) if context.get("runAsUser") == 0]
    who = setters(names, is_pod=context_of(spec).get("runAsUser") == 0)
    return Violation("runAsUser=0", f"{who} must not set runAsUser=0") if who else None


def seccomp_profile_set(metadata: KubeObject, spec: KubeObject) -> Violation | None:
    """Want a seccomp profile."""
    if unsafe := seccomp_profile(metadata, spec):
        return unsafe
    of_pod = context_of(spec).get("seccompProfile")
    silent = [name for name, context in contexts(spec) if not context.get("seccompProfile")]
    if of_pod or not silent:
        return None
    message = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {format_containers(silent)} {message}")
