"""ValidatingAdmissionPolicies: what they deny, in which words, and what they leave alone."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kro_gitops.kube.api import Cluster
from kube_objects.refs import KubeObject, ObjectRef
from tests.e2e.test_api_server import ask
from tools.cluster.plane import Plane

API = "admissionregistration.k8s.io/v1"
EVERY_WRITE = ["CREATE", "UPDATE", "DELETE"]
LIMIT = 20.0  # seconds until an API server has heard of a policy
PROBE = "probe"


class Town:
    """A namespace with policies of its own."""

    def __init__(self, plane: Plane, cluster: Cluster, namespace: str) -> None:
        self.plane = plane
        self.namespace = namespace
        self._cluster = cluster
        self._made: list[ObjectRef] = []

    async def enact(self, validations: list[KubeObject], **more: Any) -> str:
        """Put a policy into force; return its name, which is its binding's, too."""
        name = f"policy-{secrets.token_hex(4)}"
        bound = {"validationActions": more.pop("actions", ["Deny"])}
        if "params" in more:
            bound["paramRef"] = more.pop("params")
        rule = {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": EVERY_WRITE,
            "resources": ["configmaps"],
        }
        spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": validations, **more}
        here = {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}}
        bound |= {"policyName": name, "matchResources": {"namespaceSelector": here}}
        await self._make("ValidatingAdmissionPolicy", name, spec)
        await self._make("ValidatingAdmissionPolicyBinding", name, bound)
        return name

    async def in_force(self) -> None:
        """Return when the last policy, which denies the name of the probe, is in force."""
        await self.enact([{"expression": f"request.name != '{PROBE}'", "message": "mark"}])
        assert (await self.refusal_of(PROBE))["message"].endswith("mark")

    async def refusal_of(self, name: str, **data: str) -> Any:
        """Return how an object is refused as soon as it is."""
        for _ in range(int(LIMIT * 10)):
            code, _, found = await self.create(name, **data)
            if code == 422:
                return found
            await self.delete(name)
            await asyncio.sleep(0.1)
        raise AssertionError("the policy is not in force")

    async def create(self, name: str, labels: Any = None, **data: str) -> tuple[int, Any, Any]:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "data": data}
        body["metadata"] = {"name": name, **({"labels": labels} if labels else {})}
        return await self._ask("POST", "", body)

    async def delete(self, name: str) -> tuple[int, Any, Any]:
        return await self._ask("DELETE", f"/{name}", None)

    async def _ask(self, method: str, rest: str, body: Any) -> tuple[int, Any, Any]:
        path = f"api/v1/namespaces/{self.namespace}/configmaps{rest}"
        return await asyncio.to_thread(ask, self.plane, method, path, body)

    async def _make(self, kind: str, name: str, spec: KubeObject) -> None:
        made = {"apiVersion": API, "kind": kind, "metadata": {"name": name}, "spec": spec}
        await self._cluster.create(made)
        self._made.append(ObjectRef.of(made))

    async def close(self) -> None:
        for ref in reversed(self._made):
            await self._cluster.delete(ref)


@pytest.fixture
async def town(plane: Plane, cluster: Cluster, namespace: str) -> AsyncIterator[Town]:
    """Give a namespace with policies of its own."""
    made = Town(plane, cluster, namespace)
    yield made
    await made.close()


async def test_a_write_is_denied_in_the_policy_s_words(town: Town) -> None:
    name = await town.enact(
        [{"expression": "!has(object.data) || size(object.data) < 2", "message": "too much "}]
    )
    await town.in_force()
    code, _, found = await town.create("full", a="1", b="2")
    said = f"ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: too much"
    assert (code, found["reason"]) == (422, "Invalid")
    assert found["message"] == f'configmaps "full" is forbidden: {said}'
    assert found["details"]["causes"] == [{"message": said}]
    assert (await town.create("small", a="1"))[0] == 201


async def test_a_message_may_be_worked_out_and_a_reason_given(town: Town) -> None:
    await town.enact(
        [
            {
                "expression": "variables.length < 2",
                "messageExpression": "'%d are too many'.format([variables.length])",
                "reason": "Forbidden",
            }
        ],
        variables=[{"name": "length", "expression": "has(object.data) ? size(object.data) : 0"}],
        matchConditions=[{"name": "not-exempt", "expression": "request.name != 'exempt'"}],
    )
    await town.in_force()
    code, _, found = await town.create("full", a="1", b="2")
    assert (code, found["reason"]) == (403, "Forbidden")
    assert found["message"].endswith("denied request: 2 are too many")
    assert (await town.create("exempt", a="1", b="2"))[0] == 201


async def test_a_deletion_is_denied_by_what_is_there(town: Town) -> None:
    await town.enact(
        [{"expression": "request.operation != 'DELETE' || !('kept' in oldObject.data)"}]
    )
    await town.in_force()
    assert (await town.create("treasure", kept="yes"))[0] == 201
    assert (await town.create("rubbish", old="yes"))[0] == 201
    code, _, found = await town.delete("treasure")
    assert code == 422
    text = "failed expression: request.operation != 'DELETE' || !('kept' in oldObject.data)"
    assert found["message"].endswith(text)
    assert (await town.delete("rubbish"))[0] == 200


async def test_a_warning_lets_in(town: Town) -> None:
    name = await town.enact([{"expression": "false", "message": "hm"}], actions=["Warn"])
    await town.in_force()
    code, headers, _ = await town.create("odd")
    said = f"Validation failed for ValidatingAdmissionPolicy '{name}' with binding '{name}': hm"
    assert (code, headers["Warning"]) == (201, f'299 - "{said}"')


async def test_a_policy_that_fails_denies_or_is_ignored(town: Town) -> None:
    expression = "object.data.missing == 'x'"
    await town.enact([{"expression": expression}], failurePolicy="Ignore")
    await town.in_force()
    assert (await town.create("passed", a="1"))[0] == 201
    await town.enact([{"expression": expression}], failurePolicy="Fail")
    found = await town.refusal_of("stopped", a="1")
    assert found["message"].endswith(
        f"denied request: expression '{expression}' resulted in error: no such key: missing"
    )


async def test_parameters_come_from_an_object(town: Town) -> None:
    limits = {"name": "limits", "parameterNotFoundAction": "Deny"}
    assert (await town.create("limits", most="1"))[0] == 201
    await town.enact(
        [{"expression": "!has(object.data) || size(object.data) <= int(params.data.most)"}],
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        params=limits,
        matchConditions=[{"name": "others", "expression": "request.name.startsWith('map-')"}],
    )
    await town.in_force()
    assert (await town.create("map-1", a="1"))[0] == 201
    assert (await town.create("map-2", a="1", b="2"))[0] == 422
