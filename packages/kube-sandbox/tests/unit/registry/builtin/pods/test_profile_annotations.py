"""Annotations that name profiles, as a real API server takes them."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.pods.validation import check_template
from kube_sandbox.registry.builtin.pods.warnings import template_warnings
from kube_sandbox.registry.builtin.workload_strategies import WORKLOADS
from kube_sandbox.registry.strategy import RequestContext

PODS = WORKLOADS["pods"]
OCCASION = RequestContext(datetime(2026, 1, 2, tzinfo=UTC))
OF_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP = "container.seccomp.security.alpha.kubernetes.io/c"
ARMOR = "container.apparmor.security.beta.kubernetes.io/c"
AT = "spec.containers[0].securityContext"
DEFAULT, FREE = {"type": "RuntimeDefault"}, {"type": "Unconfined"}
LOCAL = {"type": "Localhost", "localhostProfile": "x"}


def pod(
    annotations: dict[str, str],
    of_container: dict[str, Any] | None = None,
    of_pod: dict[str, Any] | None = None,
    **spec: Any,
) -> KubeObject:
    found: KubeObject = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **{"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "1"},
            "annotations": annotations,
        },
        "spec": {
            "containers": [{"name": "c", "image": "x", "securityContext": of_container or {}}],
            "securityContext": of_pod or {},
            **spec,
        },
    }
    PODS.default(found)
    return found


def profile(made: KubeObject) -> Any:
    PODS.prepare_create(made, OCCASION)
    return made["spec"]["containers"][0]["securityContext"].get("appArmorProfile")


def wrong(made: KubeObject) -> list[str]:
    PODS.prepare_create(made, OCCASION)
    return list(map(str, PODS.validate_create(made, OCCASION)))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("unconfined", FREE),
        ("runtime/default", DEFAULT),
        ("localhost/x", LOCAL),
        ("localhost/../x", {"type": "Localhost", "localhostProfile": "../x"}),
        ("localhost/", None),
        ("localhost/ x", None),
        ("", None),
    ],
)
def test_an_app_armor_annotation_becomes_a_field(value: str, expected: Any) -> None:
    assert profile(pod({ARMOR: value})) == expected


def test_an_app_armor_field_stays_as_it_is() -> None:
    assert profile(pod({ARMOR: "unconfined"}, {"appArmorProfile": DEFAULT})) == DEFAULT
    assert profile(pod({ARMOR: "runtime/default"}, None, {"appArmorProfile": DEFAULT})) is None
    assert profile(pod({ARMOR: "unconfined"}, None, {"appArmorProfile": DEFAULT})) == FREE
    assert profile(pod({ARMOR: "unconfined"}, os={"name": "windows"})) is None


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (pod({ARMOR: "unconfined", SECCOMP: "unconfined"}), []),
        (
            pod({ARMOR: "foo"}),
            [
                f'metadata.annotations[{ARMOR}]: Invalid value: "foo": '
                'invalid AppArmor profile name: "foo"'
            ],
        ),
        (
            pod({f"{ARMOR}z": "unconfined"}),
            [f'metadata.annotations[{ARMOR}z]: Invalid value: "cz": container not found'],
        ),
        (
            pod({SECCOMP: "foo", OF_POD: "localhost/../x"}),
            [
                f"metadata.annotations.{OF_POD}: Invalid value: \"../x\": must not contain '..'",
                f'metadata.annotations.{SECCOMP}: Invalid value: "foo": '
                "must be a valid seccomp profile",
            ],
        ),
        (
            pod({ARMOR: "unconfined"}, {"appArmorProfile": DEFAULT}),
            [
                f"{AT}.appArmorProfile.type: Forbidden: "
                "apparmor type in annotation and field must match"
            ],
        ),
        (
            pod({ARMOR: "localhost/y"}, {"appArmorProfile": LOCAL}),
            [
                f"{AT}.appArmorProfile.localhostProfile: Forbidden: "
                "apparmor profile in annotation and field must match"
            ],
        ),
        (
            pod({SECCOMP: "unconfined"}, {"seccompProfile": DEFAULT}),
            [
                f"{AT}.seccompProfile.type: Forbidden: "
                "seccomp type in annotation and field must match"
            ],
        ),
        (pod({SECCOMP: "docker/default"}, {"seccompProfile": DEFAULT}), []),
        (
            pod({OF_POD: "unconfined"}, None, {"seccompProfile": LOCAL}),
            [
                "spec.securityContext.seccompProfile.type: Forbidden: "
                "seccomp type in annotation and field must match"
            ],
        ),
    ],
)
def test_annotations_name_profiles_and_those_of_the_fields(
    made: KubeObject, expected: list[str]
) -> None:
    assert wrong(made) == expected


def test_a_template_whose_pods_would_get_another_profile_is_refused() -> None:
    made = pod({ARMOR: "unconfined"}, None, {"appArmorProfile": DEFAULT})
    (error,) = check_template(made, "template")
    assert str(error) == (
        f"template.{AT}.appArmorProfile.type: Forbidden: "
        "apparmor type in annotation and field must match"
    )


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({ARMOR: "unconfined"}, {}, "may not remove or update AppArmor annotations"),
        (
            {ARMOR: "unconfined"},
            {ARMOR: "runtime/default"},
            "may not remove or update AppArmor annotations",
        ),
        ({}, {ARMOR: "unconfined"}, "may not add AppArmor annotations"),
    ],
)
def test_app_armor_annotations_of_a_pod_that_is_there_stay(
    before: dict[str, str], after: dict[str, str], told: str
) -> None:
    old, new = pod(before), pod(after)
    (error,) = PODS.validate_update(new, old, "", OCCASION)
    assert str(error) == f"metadata.annotations[{ARMOR}]: Forbidden: {told}"
    assert PODS.validate_update(pod({SECCOMP: "unconfined"}), pod({}), "", OCCASION) == []


def test_annotations_that_do_nothing_are_warned_of() -> None:
    told = 'non-functional in v1.27+; use the "seccompProfile" field instead'
    made = pod({SECCOMP: "unconfined", OF_POD: "unconfined"})
    assert PODS.warnings(made, None) == [
        f"metadata.annotations[{OF_POD}]: {told}",
        f"metadata.annotations[{SECCOMP}]: {told}",
    ]
    same = pod({SECCOMP: "unconfined"}, {"seccompProfile": FREE})
    assert PODS.warnings(same, None) == []


def test_templates_are_warned_of_app_armor_annotations() -> None:
    told = 'deprecated since v1.30; use the "appArmorProfile" field instead'
    made = pod({ARMOR: "unconfined"})
    warning = f"template.metadata.annotations[{ARMOR}]: {told}"
    assert template_warnings(made, "template") == [warning]
    same = pod({ARMOR: "unconfined"}, None, {"appArmorProfile": FREE})
    assert template_warnings(same, "template") == []
