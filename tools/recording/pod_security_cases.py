"""
Pods for the Pod Security Standards: every field that they look at, good and bad, in every place.

A pod is a base and some changes of it; a change says which fields of the pod's spec, of its
security context, or of a container are what.
"""

import copy
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Json = dict[str, Any]
Change = Callable[[Json], None]

LISTS = ("containers", "initContainers", "ephemeralContainers")
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io"
_SECCOMP = "seccomp.security.alpha.kubernetes.io"
_COMBINED = 200
_MEEK: Json = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
_PROFILES = (
    {"type": "RuntimeDefault"},
    {"type": "Localhost", "localhostProfile": "x"},
    {"type": "Unconfined"},
)
_SELINUX = (
    {},
    *({"type": f"container_{kind}"} for kind in ("t", "init_t", "kvm_t", "engine_t")),
    {"type": "spc_t"},
    {"user": "u"},
    {"role": "r"},
    {"type": "spc_t", "user": "u", "role": "r"},
    {"level": "s0"},
)
# What both a pod and a container can say.
_SHARED: Mapping[str, Sequence[Any]] = {
    "runAsNonRoot": (True, False, None),
    "runAsUser": (0, 1000),
    "seccompProfile": (*_PROFILES, None),
    "appArmorProfile": _PROFILES,
    "seLinuxOptions": _SELINUX,
}
_OF_CONTAINER: Mapping[str, Sequence[Any]] = {
    **_SHARED,
    "allowPrivilegeEscalation": (True, False, None),
    "privileged": (True, False),
    "procMount": ("Default",),
    "capabilities": (
        None,
        {"drop": ["all"]},
        {"drop": ["KILL"], "add": ["NET_BIND_SERVICE"]},
        {"drop": ["KILL", "ALL"], "add": ["NET_BIND_SERVICE"]},
        {"drop": ["ALL"], "add": ["CHOWN", "AUDIT_WRITE"]},
        {"drop": ["ALL"], "add": ["SYS_TIME", "NET_RAW", "CHOWN"]},
        {"add": ["ALL"]},
        {"add": ["CAP_CHOWN", "chown"]},
    ),
}
_SYSCTLS = (
    *("kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies"),
    *("net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"),
    *("net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time"),
    *("net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes"),
    *("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "kernel.msgmax", "net/ipv4/tcp_rmem"),
)
_VOLUMES: Mapping[str, Json] = {
    "configMap": {"name": "a"},
    "csi": {"driver": "a.example.com"},
    "downwardAPI": {"items": []},
    "emptyDir": {},
    "ephemeral": {
        "volumeClaimTemplate": {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            }
        }
    },
    "image": {"reference": "a"},
    "persistentVolumeClaim": {"claimName": "a"},
    "projected": {"sources": []},
    "secret": {"secretName": "a"},
    "hostPath": {"path": "/a"},
    "gcePersistentDisk": {"pdName": "a"},
    "awsElasticBlockStore": {"volumeID": "a"},
    "gitRepo": {"repository": "a"},
    "nfs": {"server": "a", "path": "/a"},
    "iscsi": {"targetPortal": "a", "iqn": "iqn.2001-04.com.example:a", "lun": 0},
    "glusterfs": {"endpoints": "a", "path": "/a"},
    "rbd": {"monitors": ["a"], "image": "a"},
    "flexVolume": {"driver": "a/b"},
    "cinder": {"volumeID": "a"},
    "cephfs": {"monitors": ["a"]},
    "flocker": {"datasetName": "a"},
    "fc": {"targetWWNs": ["a"], "lun": 0},
    "azureFile": {"secretName": "a", "shareName": "a"},
    "vsphereVolume": {"volumePath": "a"},
    "quobyte": {"registry": "a:1", "volume": "a"},
    "azureDisk": {"diskName": "a", "diskURI": "/subscriptions/a", "kind": "Managed"},
    "photonPersistentDisk": {"pdID": "a"},
    "portworxVolume": {"volumeID": "a"},
    "scaleIO": {"gateway": "a", "system": "a", "volumeName": "a", "secretRef": {"name": "a"}},
    "storageos": {"volumeName": "a"},
}
_ANNOTATIONS: Sequence[Mapping[str, str]] = (
    {f"{_SECCOMP}/pod": "unconfined"},
    {f"{_SECCOMP}/pod": "docker/default"},
    {f"{_SECCOMP}/pod": "localhost/x"},
    {f"container.{_SECCOMP}/c": "unconfined"},
    {f"container.{_SECCOMP}/other": "unconfined"},
    {f"container.{_SECCOMP}/c": "unconfined", f"{_SECCOMP}/pod": "unconfined"},
)
# An annotation that says something else than the field is no good, and the field follows it.
_PROFILE_ANNOTATIONS = ("runtime/default", "localhost/x", "unconfined")
_GET, _TCP = {"port": 80, "host": "a.example.com"}, {"port": 80, "host": "127.0.0.1"}
_HANDLERS: Sequence[Json] = (
    {"livenessProbe": {"httpGet": _GET}},
    {"readinessProbe": {"tcpSocket": _TCP}},
    {"startupProbe": {"httpGet": _GET}, "livenessProbe": {"tcpSocket": _TCP}},
    {"livenessProbe": {"httpGet": {"port": 80}}, "readinessProbe": {"exec": {"command": ["a"]}}},
    {"lifecycle": {"postStart": {"httpGet": _GET}}},
    {"lifecycle": {"preStop": {"tcpSocket": _TCP}, "postStart": {"exec": {"command": ["a"]}}}},
)
_PORTS: Sequence[Sequence[Json]] = (
    [{"containerPort": 80}],
    [{"containerPort": 80, "hostPort": 80}],
    [{"containerPort": 80, "hostPort": 9}, {"containerPort": 81, "hostPort": 80}],
)


def container(name: str, *, meek: bool) -> Json:
    """Return a container that every standard accepts, or one that says nothing."""
    context = {"securityContext": copy.deepcopy(_MEEK)} if meek else {}
    return {"name": name, "image": "i", **context}


def base(*, meek: bool) -> Json:
    """Return a pod that every standard accepts, or one that says nothing."""
    return {"metadata": {"name": "x"}, "spec": {"containers": [container("c", meek=meek)]}}


def _in_spec(**fields: Any) -> Change:
    return lambda pod: pod["spec"].update(copy.deepcopy(fields))


def _in_context(field: str, value: Any) -> Change:
    return lambda pod: _set(pod["spec"].setdefault("securityContext", {}), field, value)


def _set(context: Json, field: str, value: Any) -> None:
    if value is None:
        context.pop(field, None)
    else:
        context[field] = copy.deepcopy(value)
    if field == "privileged" and value:
        context.pop("allowPrivilegeEscalation", None)  # the one takes in the other


def _one_of(pod: Json, place: str) -> Json:
    """Return a container in a place; a new one that says as much as the first."""
    if place == LISTS[0]:
        first: Json = pod["spec"][place][0]
        return first
    meek = "securityContext" in pod["spec"][LISTS[0]][0]
    found = pod["spec"].setdefault(place, [])
    if not found:
        found.append(container(place[0], meek=meek))
    last: Json = found[-1]
    return last


def _in_container(place: str, fields: Json) -> Change:
    return lambda pod: _one_of(pod, place).update(copy.deepcopy(fields))


def _in_container_context(place: str, field: str, value: Any) -> Change:
    return lambda pod: _set(_one_of(pod, place).setdefault("securityContext", {}), field, value)


def _volume(name: str) -> Change:
    def changed(pod: Json) -> None:
        volumes = pod["spec"].setdefault("volumes", [])
        volumes.append({"name": f"v{len(volumes)}", name: copy.deepcopy(_VOLUMES[name])})

    return changed


def _annotated(annotations: Mapping[str, str]) -> Change:
    return lambda pod: pod["metadata"].setdefault("annotations", {}).update(annotations)


def _annotated_profile(index: int) -> Change:
    def changed(pod: Json) -> None:
        _annotated({f"{_APP_ARMOR}/c": _PROFILE_ANNOTATIONS[index]})(pod)
        _in_container_context(LISTS[0], "appArmorProfile", _PROFILES[index])(pod)

    return changed


def _unmasked(place: str) -> Change:
    def changed(pod: Json) -> None:
        pod["spec"]["hostUsers"] = False
        _one_of(pod, place).setdefault("securityContext", {})["procMount"] = "Unmasked"

    return changed


def _windows(*, host: bool, of_pod: bool) -> Change:
    def changed(pod: Json) -> None:
        spec = pod["spec"]
        spec["os"] = {"name": "windows"}
        spec.pop("hostUsers", None)
        target = spec if of_pod else spec["containers"][0]
        for each in spec["containers"]:
            each.pop("securityContext", None)
        spec.pop("securityContext", None)
        target["securityContext"] = {"windowsOptions": {"runAsUserName": "ContainerUser"}}
        if host:
            spec["hostNetwork"] = True
            target["securityContext"]["windowsOptions"]["hostProcess"] = True

    return changed


def _of_container(place: str) -> Iterator[Change]:
    for field, values in _OF_CONTAINER.items():
        yield from (_in_container_context(place, field, value) for value in values)
    yield from (_in_container(place, {"ports": ports}) for ports in _PORTS)
    yield from (_in_container(place, handlers) for handlers in _HANDLERS)
    yield _unmasked(place)


def _of_pod() -> Iterator[Change]:
    for field, values in _SHARED.items():
        yield from (_in_context(field, value) for value in values)
    yield from (_in_context("sysctls", [{"name": name, "value": "1"}]) for name in _SYSCTLS)
    yield _in_context("sysctls", [{"name": name, "value": "1"} for name in reversed(_SYSCTLS)])
    yield from (_in_spec(**{name: True}) for name in ("hostNetwork", "hostPID", "hostIPC"))
    yield from (_in_spec(hostUsers=value) for value in (True, False))
    yield _in_spec(hostNetwork=True, hostPID=True, hostIPC=True)
    yield from map(_volume, _VOLUMES)
    yield from map(_annotated, _ANNOTATIONS)
    yield from map(_annotated_profile, range(len(_PROFILES)))
    yield from (_windows(host=host, of_pod=pod) for host in (True, False) for pod in (True, False))


def _changed(changes: Sequence[Change], *, meek: bool) -> Json:
    pod = base(meek=meek)
    for change in changes:
        change(pod)
    return pod


def pods() -> list[Json]:
    """Return pods to create: each change alone, then several at once."""
    changes = [*_of_pod(), *_of_container(LISTS[0]), *_of_container(LISTS[1])]
    found = [base(meek=True), base(meek=False)]
    found += [_changed([change], meek=True) for change in changes]
    dice = random.Random(1)
    for _ in range(_COMBINED):
        chosen = dice.sample(changes, dice.randint(2, 5))
        found.append(_changed(chosen, meek=dice.random() < 0.5))
    return found


def debugged() -> list[Json]:
    """Return the pod that every standard accepts with a container that looks into it."""
    return [_changed([change], meek=True) for change in _of_container(LISTS[2])]
