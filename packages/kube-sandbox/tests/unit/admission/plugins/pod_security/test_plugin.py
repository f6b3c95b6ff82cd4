"""Which standard is asked for which write, and what comes of it, as seen on a real API server."""

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from kube_objects.refs import KubeObject
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.plugins.interface import AdmissionContext
from kube_sandbox.admission.plugins.pod_security.plugin import TEMPLATES, PodSecurity
from kube_sandbox.api_errors import StatusError
from kube_sandbox.authentication.user_info import UserInfo
from kube_sandbox.registry.builtin.registry import strategies
from kube_sandbox.registry.builtin.services.ip_allocation import ServiceAllocations
from kube_sandbox.registry.builtin_resources import served_builtins

SERVED = {each.bucket: each for each in served_builtins(strategies(ServiceAllocations()))}
PREFIX = "pod-security.kubernetes.io/"
POD: KubeObject = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
ON_HOST: KubeObject = {**POD, "spec": {**POD["spec"], "hostNetwork": True}}
HOST = "host namespaces (hostNetwork=true)"
BASELINE = f'PodSecurity "baseline:latest": {HOST}'
NOT_A_LEVEL = "must be one of privileged, baseline, restricted"
NOT_A_VERSION = 'must be "latest" or "v1.x"'


def namespace(**labels: str) -> KubeObject:
    named = {PREFIX + key.replace("_", "-"): value for key, value in labels.items()}
    return {"metadata": {"name": "town", "labels": named}}


def asked(
    obj: KubeObject,
    bucket: str = "pods",
    *,
    old: KubeObject | None = None,
    part: str = "",
    town: KubeObject | None = None,
    pods: tuple[KubeObject, ...] = (),
) -> list[str]:
    """Return the warnings for a write."""
    plugin = PodSecurity(AdmissionContext(lambda *place: town, lambda *place: pods))
    served = SERVED[bucket]
    operation = "CREATE" if old is None else "UPDATE"
    place = "town" if served.namespaced else ""
    name = obj["metadata"]["name"]
    return plugin.validate(
        AdmissionAttributes(operation, served, place, name, part, obj, old, UserInfo("jane"))
    )


def made_from(pod: KubeObject, bucket: str) -> KubeObject:
    """Return an object of a kind that makes such pods."""
    made: Any = {"metadata": {}, "spec": pod["spec"]}
    for step in reversed(TEMPLATES[bucket]):
        made = {step: made}
    return {"metadata": {"name": "x"}, **made}


def called(name: str, pod: KubeObject = ON_HOST, owner: str = "") -> KubeObject:
    owners = [{"uid": owner, "controller": True}] if owner else []
    return {**pod, "metadata": {"name": name, "ownerReferences": owners}}


def refusal(obj: KubeObject, **more: Any) -> StatusError:
    with pytest.raises(StatusError) as caught:
        asked(obj, **more)
    return caught.value


def test_a_namespace_without_labels_takes_any_pod() -> None:
    assert asked(ON_HOST, town={"metadata": {"name": "town"}}) == []


def test_a_pod_that_violates_what_is_enforced_is_refused() -> None:
    error = refusal(ON_HOST, town=namespace(enforce="baseline"))
    assert error.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'pods "a" is forbidden: violates {BASELINE}',
        "reason": "Forbidden",
        "details": {"name": "a", "kind": "pods"},
        "code": 403,
    }


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"warn": "baseline"}, "baseline:latest"),
        ({"warn": "baseline", "warn_version": "v1.5"}, "baseline:v1.5"),
        ({"warn": "baseline", "enforce": "privileged"}, "baseline:latest"),
        ({"warn": "baseline", "audit": "restricted"}, "baseline:latest"),
        ({"warn": "baseline", "warn_version": "v1.99"}, "baseline:v1.99"),
    ],
)
def test_a_pod_that_violates_what_is_warned_of_is_let_in(
    labels: Mapping[str, str], expected: str
) -> None:
    warnings = asked(ON_HOST, town=namespace(**labels))
    assert warnings == [f'would violate PodSecurity "{expected}": {HOST}']


@pytest.mark.parametrize("labels", [{"audit": "restricted"}, {"warn_version": "v1.5"}])
def test_who_does_not_ask_to_be_warned_is_not(labels: Mapping[str, str]) -> None:
    assert asked(ON_HOST, town=namespace(**labels)) == []


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"enforce": "baseline"}, "baseline:latest"),
        ({"enforce": "baseline", "enforce_version": "v1.30"}, "baseline:v1.30"),
        (
            {"enforce": "baseline", "enforce_version": "v1.30", "warn_version": "v1.20"},
            "baseline:v1.20",
        ),
    ],
)
@pytest.mark.parametrize("bucket", TEMPLATES)
def test_what_makes_pods_is_warned_of_what_is_enforced(
    bucket: str, labels: Mapping[str, str], expected: str
) -> None:
    warnings = asked(made_from(ON_HOST, bucket), bucket, town=namespace(**labels))
    assert warnings == [f'would violate PodSecurity "{expected}": {HOST}']


def test_an_enforced_standard_is_not_warned_of_if_another_is() -> None:
    labels = namespace(enforce="baseline", warn="privileged")
    assert asked(made_from(ON_HOST, "jobs.batch"), "jobs.batch", town=labels) == []


def test_a_template_keeps_its_annotations_to_itself() -> None:
    key = "container.apparmor.security.beta.kubernetes.io/c"
    maker = made_from(POD, "podtemplates")
    maker["template"]["metadata"] = {"annotations": {key: "unconfined"}}
    assert asked(maker, "podtemplates", town=namespace(warn="baseline")) == [
        'would violate PodSecurity "baseline:latest": forbidden AppArmor profile (annotation must '
        f'not set AppArmor profile type to "{key}="unconfined"")'
    ]


@pytest.mark.parametrize("part", ["status", "scale"])
def test_parts_of_what_makes_pods_are_not_looked_at(part: str) -> None:
    maker = made_from(ON_HOST, "deployments.apps")
    town = namespace(enforce="baseline")
    assert asked(maker, "deployments.apps", old=maker, part=part, town=town) == []


def changed(field: str, **more: Any) -> KubeObject:
    pod = copy.deepcopy(ON_HOST)
    pod["spec"][field] = [{"name": "c", "image": "i", **more}]
    return pod


@pytest.mark.parametrize(
    ("new", "part", "is_refused"),
    [
        pytest.param({**ON_HOST, "metadata": {"name": "a", "labels": {"b": "c"}}}, "", False),
        pytest.param(changed("containers", resources={"limits": {"cpu": "1"}}), "", False),
        pytest.param(changed("containers", image="j"), "", True, id="an image"),
        pytest.param(changed("initContainers"), "", True, id="one more"),
        pytest.param(changed("ephemeralContainers"), "ephemeralcontainers", True, id="debugged"),
        pytest.param(changed("containers", image="j"), "status", False, id="a part"),
    ],
)
def test_a_pod_that_is_there_is_refused_if_containers_change(
    new: KubeObject, part: str, is_refused: bool
) -> None:
    town = namespace(enforce="baseline")
    if is_refused:
        assert refusal(new, old=ON_HOST, part=part, town=town).code == 403
    else:
        assert asked(new, old=ON_HOST, part=part, town=town) == []


def test_a_container_that_looks_into_a_pod_is_judged_once() -> None:
    there = changed("ephemeralContainers")
    town = namespace(enforce="baseline")
    assert asked(there, old=there, part="ephemeralcontainers", town=town) == []
    other = changed("ephemeralContainers", image="j")
    assert refusal(other, old=there, part="ephemeralcontainers", town=town).code == 403


# Namespaces


def test_labels_that_make_no_sense_are_refused_together() -> None:
    labels = namespace(
        enforce="x",
        enforce_version="v2.0",
        audit="",
        audit_version="v1.00",
        warn="Baseline",
        warn_version="1.2",
    )
    error = refusal(labels, bucket="namespaces")
    wrong = (
        ("enforce", "x", NOT_A_LEVEL),
        ("enforce-version", "v2.0", NOT_A_VERSION),
        ("audit", "", NOT_A_LEVEL),
        ("audit-version", "v1.00", NOT_A_VERSION),
        ("warn", "Baseline", NOT_A_LEVEL),
        ("warn-version", "1.2", NOT_A_VERSION),
    )
    told = [
        f'metadata.labels[{PREFIX}{label}]: Invalid value: "{value}": {why}'
        for label, value, why in wrong
    ]
    assert error.message == f'Namespace "town" is invalid: [{", ".join(told)}]'
    assert error.code == 422
    assert [cause["field"] for cause in error.details["causes"]] == [
        f"metadata.labels[{PREFIX}{label}]" for label, _, _ in wrong
    ]


@pytest.mark.parametrize(
    ("version", "is_one"),
    [
        ("latest", True),
        ("v1.0", True),
        ("v1.9223372036854775807", True),
        ("v1.9223372036854775808", False),
        ("v1.", False),
        ("1.30", False),
        ("v1.30.1", False),
    ],
)
def test_versions_are_of_kubernetes_1(version: str, is_one: bool) -> None:
    labels = namespace(enforce_version=version)
    if is_one:
        assert asked(labels, "namespaces") == []
    else:
        assert NOT_A_VERSION in refusal(labels, bucket="namespaces").message


def test_labels_that_made_no_sense_before_do_not_hinder() -> None:
    old = namespace(enforce="x")
    assert asked(old, "namespaces", old=old) == []
    assert "is invalid" in refusal(namespace(enforce="y"), bucket="namespaces", old=old).message
    # Such a level is taken for the strictest, but nobody is warned.
    assert '"restricted:latest"' in refusal(ON_HOST, town=old).message
    assert asked(made_from(ON_HOST, "jobs.batch"), "jobs.batch", town=old) == []


def test_the_status_of_a_namespace_is_not_looked_at() -> None:
    labels = namespace(enforce="x")
    assert asked(labels, "namespaces", old=namespace(), part="status") == []


def test_a_stricter_standard_is_told_which_pods_violate_it() -> None:
    pods = (
        *(called("b", POD), called("a", POD), called("d")),
        *(called(name, owner="u") for name in ("r1", "r2", "r0")),
    )
    labels = namespace(enforce="restricted", enforce_version="v1.20")
    plain = "allowPrivilegeEscalation != false, runAsNonRoot != true, seccompProfile"
    assert asked(labels, "namespaces", old=namespace(), pods=pods) == [
        'existing pods in namespace "town" violate the new PodSecurity enforce level '
        '"restricted:v1.20"',
        f"a (and 1 other pod): {plain}",
        f"d (and 3 other pods): host namespaces, {plain}",
    ]


@pytest.mark.parametrize(
    ("old", "new", "is_told"),
    [
        ({"enforce": "baseline"}, {"enforce": "restricted"}, True),
        ({"enforce": "restricted"}, {"enforce": "baseline"}, False),
        ({"enforce": "baseline"}, {"enforce": "baseline", "warn": "restricted"}, False),
        ({"enforce": "baseline"}, {"enforce": "privileged"}, False),
        ({"enforce": "restricted"}, {"enforce": "baseline", "enforce_version": "v1.1"}, True),
        ({"enforce": "baseline"}, {"enforce": "baseline", "enforce_version": "latest"}, False),
        ({}, {"warn": "restricted", "audit": "restricted"}, False),
    ],
)
def test_only_a_standard_that_may_be_stricter_is_tried(
    old: Mapping[str, str], new: Mapping[str, str], is_told: bool
) -> None:
    new_labels, old_labels = namespace(**new), namespace(**old)
    warnings = asked(new_labels, "namespaces", old=old_labels, pods=(ON_HOST,))
    assert bool(warnings) == is_told


def test_of_very_many_pods_those_with_a_controller_of_their_own_are_tried_first() -> None:
    same = tuple(called(f"s{i:04}", owner="u") for i in range(3000))
    other = copy.deepcopy(POD)
    other["spec"]["containers"][0]["securityContext"] = {"privileged": True}
    pods = (*same, called("z", other))
    assert asked(namespace(enforce="baseline"), "namespaces", old=namespace(), pods=pods) == [
        "new PodSecurity enforce level only checked against the first 3000 of 3001 existing pods",
        'existing pods in namespace "town" violate the new PodSecurity enforce level '
        '"baseline:latest"',
        "s0000 (and 2998 other pods): host namespaces",
        "z: privileged",
    ]
