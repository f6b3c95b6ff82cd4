"""Which writes a policy is about; what it says of them is compared in tests/e2e."""

from typing import Any

import pytest

from kube_objects.refs import Kind, KubeObject
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.validating_admission_policy import (
    GROUP,
    Sources,
    ValidatingAdmissionPolicies,
)
from kube_sandbox.api_errors import StatusError
from kube_sandbox.authentication.user_info import UserInfo
from kube_sandbox.registry.builtin.registry import strategies
from kube_sandbox.registry.builtin.services.ip_allocation import ServiceAllocations
from kube_sandbox.registry.builtin_resources import served_builtins
from kube_sandbox.registry.kinds import Served

SERVED = {each.kind: each for each in served_builtins(strategies(ServiceAllocations()))}
MAP, NAMESPACE = SERVED[Kind("", "v1", "ConfigMap")], SERVED[Kind("", "v1", "Namespace")]
DEPLOYMENT = SERVED[Kind("apps", "v1", "Deployment")]
POLICY = SERVED[Kind(GROUP, "v1", "ValidatingAdmissionPolicy")]
RULE = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["configmaps"],
}
ANY = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}


def policies(
    constraints: KubeObject | None, resources: KubeObject | None = None
) -> ValidatingAdmissionPolicies:
    """Return one policy that denies everything it is about."""
    spec: dict[str, Any] = {"validations": [{"expression": "false"}]}
    if constraints is not None:
        spec["matchConstraints"] = constraints
    bound: dict[str, Any] = {"policyName": "no", "validationActions": ["Deny"]}
    if resources is not None:
        bound["matchResources"] = resources
    objects = {
        f"validatingadmissionpolicies.{GROUP}": {"metadata": {"name": "no"}, "spec": spec},
        f"validatingadmissionpolicybindings.{GROUP}": {"metadata": {"name": "b"}, "spec": bound},
    }
    town = {"metadata": {"name": "town", "labels": {"size": "small"}}}
    return ValidatingAdmissionPolicies(
        Sources(
            lambda bucket: [objects[bucket]] if bucket in objects else [],
            lambda name: town if name == "town" else None,
            SERVED.get,
        )
    )


def deed(served: Served = MAP, operation: str = "CREATE", **more: Any) -> AdmissionAttributes:
    namespace = "town" if served.namespaced else ""
    obj = {"metadata": {"name": "a", "labels": more.pop("labels", {})}}
    part = more.pop("subresource", "")
    return AdmissionAttributes(operation, served, namespace, "a", part, obj, None, UserInfo("jane"))


def denies(found: ValidatingAdmissionPolicies, asked: AdmissionAttributes) -> bool:
    try:
        found.admit(asked)
    except StatusError:
        return True
    return False


@pytest.mark.parametrize(
    ("rule", "asked", "expected"),
    [
        (RULE, deed(), True),
        (RULE, deed(operation="UPDATE"), False),
        (RULE, deed(DEPLOYMENT), False),
        (RULE, deed(subresource="status"), False),
        (ANY, deed(DEPLOYMENT, "UPDATE"), True),
        (ANY, deed(DEPLOYMENT, "UPDATE", subresource="status"), False),
        ({**ANY, "resources": ["*/*"]}, deed(DEPLOYMENT, subresource="scale"), True),
        ({**ANY, "resources": ["*/scale"]}, deed(DEPLOYMENT, subresource="scale"), True),
        ({**ANY, "resources": ["deployments/*"]}, deed(MAP), False),
        ({**ANY, "scope": "Cluster"}, deed(), False),
        ({**ANY, "scope": "Cluster"}, deed(NAMESPACE), True),
        ({**ANY, "scope": "Namespaced"}, deed(NAMESPACE), False),
        ({**RULE, "resourceNames": ["b"]}, deed(), False),
        ({**RULE, "resourceNames": ["a", "b"]}, deed(), True),
        (ANY, deed(POLICY), False),  # nobody is locked out of changing policies
    ],
)
def test_a_rule_says_what_it_is_about(
    rule: KubeObject, asked: AdmissionAttributes, expected: bool
) -> None:
    assert denies(policies({"resourceRules": [rule]}), asked) is expected
    everything = {"resourceRules": [{**ANY, "resources": ["*/*"]}]}
    assert denies(policies(everything, {"resourceRules": [rule]}), asked) is expected


def test_what_is_excluded_is_let_in() -> None:
    found = policies({"resourceRules": [ANY], "excludeResourceRules": [RULE]})
    assert not denies(found, deed())
    assert denies(found, deed(operation="UPDATE"))


@pytest.mark.parametrize(
    ("criteria", "asked", "expected"),
    [
        ({"namespaceSelector": {"matchLabels": {"size": "small"}}}, deed(), True),
        ({"namespaceSelector": {"matchLabels": {"size": "large"}}}, deed(), False),
        # A namespace is judged by the labels it is to have.
        (
            {"namespaceSelector": {"matchLabels": {"size": "large"}}},
            deed(NAMESPACE, labels={"size": "large"}),
            True,
        ),
        ({"objectSelector": {"matchLabels": {"a": "b"}}}, deed(labels={"a": "b"}), True),
        ({"objectSelector": {"matchLabels": {"a": "b"}}}, deed(), False),
    ],
)
def test_labels_say_where_it_is_in_force(
    criteria: KubeObject, asked: AdmissionAttributes, expected: bool
) -> None:
    assert denies(policies({"resourceRules": [ANY]}, criteria), asked) is expected


def test_a_policy_without_a_binding_is_not_in_force() -> None:
    found = ValidatingAdmissionPolicies(Sources(lambda _: [], lambda _: None, SERVED.get))
    assert not found.are_any
    assert found.admit(deed()) == []
