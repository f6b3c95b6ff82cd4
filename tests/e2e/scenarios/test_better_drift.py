"""Fields that people add to children with kubectl, and fields that other controllers set."""

import json
from pathlib import Path
from typing import Any

import pytest

from kro_gitops.kube.api import MergePatch, WriteOptions
from kro_gitops.metadata import DRIFT_ADDED_FIELDS, DRIFT_IGNORE
from kube_objects.refs import KubeObject
from tests.e2e.scenarios.controllers import better
from tests.e2e.scenarios.parts import becomes, config_map, deployment, node, serve, service
from tests.e2e.scenarios.person import Person
from tests.e2e.scenarios.world import World, annotations, labels

pytestmark = better("it leaves alone what others add, and a replaced list ends in an error")

NAME = "${schema.metadata.name}"
SIDECAR = {"name": "sidecar", "image": "debug:1"}


@pytest.fixture
def person(world: World, kubeconfig: Path, tmp_path: Path) -> Person:
    """Give a person who changes objects of the world with kubectl."""
    return Person(world, kubeconfig, tmp_path)


async def shop(world: World, *nodes: dict[str, Any], **metadata: Any) -> KubeObject:
    """Have one instance whose children are these, settled."""
    made = world.definition("Shop", {"x": 'string | default="1"'}, resources=nodes)
    made["metadata"] |= metadata
    front = world.instance("Shop", "front")
    await serve(world, made, front)
    await world.settled(front)
    return front


def containers(obj: KubeObject) -> list[str]:
    return [each["name"] for each in obj["spec"]["template"]["spec"]["containers"]]


def patch(value: Any) -> str:
    return json.dumps(value)


@pytest.mark.parametrize("how", ["patch", "edit", "apply"])
async def test_better_a_container_that_a_person_adds_is_removed(
    world: World, person: Person, how: str
) -> None:
    front = await shop(world, node("app", deployment(NAME)))
    app = world.ref("apps/v1", "Deployment", "front")
    before = await world.get(app)
    if how == "patch":
        added = {"spec": {"template": {"spec": {"containers": [SIDECAR]}}}}
        await person.kubectl("patch", "deployment", "front", "-p", patch(added))
    elif how == "edit":
        line = "      containers:\n"
        await person.edit(
            "deployment/front", line, line + "      - name: sidecar\n        image: debug:1\n"
        )
    else:
        wanted = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "front"},
            "spec": {"template": {"spec": {"containers": [SIDECAR]}}},
        }
        await person.kubectl("apply", "--server-side", "-f", "-", stdin=patch(wanted))

    async def removed() -> None:
        assert containers(await world.get(app)) == ["main"]

    await world.until(removed)
    await world.settled(front)
    after = await world.get(app)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"] == before["spec"]


@pytest.mark.parametrize("how", ["merge", "edit"])
async def test_better_a_port_that_a_person_replaces_comes_back(
    world: World, person: Person, how: str
) -> None:
    """Two ports without names are invalid, so the other one must leave in the same request."""
    front = await shop(world, node("web", service(NAME, "main")))
    web = world.ref("v1", "Service", "front")
    before = await world.get(web)
    if how == "merge":
        ports = {"spec": {"ports": [{"port": 81}]}}
        await person.kubectl("patch", "service", "front", "--type=merge", "-p", patch(ports))
    else:
        await person.edit("service/front", "- port: 80\n", "- port: 81\n")

    async def healed() -> None:
        found = await world.get(web)
        assert [each["port"] for each in found["spec"]["ports"]] == [80]

    await world.until(healed)
    await world.settled(front)
    after = await world.get(web)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"]["clusterIP"] == before["spec"]["clusterIP"]


async def test_better_a_port_that_a_program_replaces_comes_back(world: World) -> None:
    """Whoever replaced the list: without a remedy the instance would stay in ERROR."""
    front = await shop(world, node("web", service(NAME, "main")))
    web = world.ref("v1", "Service", "front")
    await world.merge(web, {"spec": {"ports": [{"port": 81}]}})

    async def healed() -> None:
        found = await world.get(web)
        assert [each["port"] for each in found["spec"]["ports"]] == [80]

    await world.until(healed)
    await world.settled(front)


async def test_better_labels_annotations_and_keys_that_a_person_adds_are_removed(
    world: World, person: Person
) -> None:
    front = await shop(world, node("cm", config_map(NAME, {"x": "1"})))
    cm = world.ref("v1", "ConfigMap", "front")
    await person.kubectl("label", "configmap", "front", "example.org/team=blue")
    await person.kubectl("annotate", "configmap", "front", "example.org/note=mine")
    await person.kubectl("patch", "configmap", "front", "-p", patch({"data": {"y": "2"}}))

    async def removed() -> None:
        found = await world.get(cm)
        assert found["data"] == {"x": "1"}
        assert "example.org/team" not in labels(found)
        assert "example.org/note" not in annotations(found)

    await world.until(removed)
    await world.settled(front)


async def test_better_fields_of_autoscalers_injectors_and_operators_stay(
    world: World, person: Person
) -> None:
    """None of them is a person's: what they add is left alone, however long it is there."""
    app_template = deployment(NAME)
    del app_template["spec"]["replicas"]
    front = await shop(world, node("app", app_template))
    app = world.ref("apps/v1", "Deployment", "front")
    # The template does not set the replicas, so whoever scales does.
    await person.kubectl("scale", "deployment", "front", "--replicas=3")
    injected = {"spec": {"template": {"spec": {"containers": [{**SIDECAR, "name": "proxy"}]}}}}
    written = {"apiVersion": "apps/v1", "kind": "Deployment", **injected}
    written["metadata"] = {"name": "front", "namespace": world.namespace}
    await world.cluster.apply(written, WriteOptions(manager="istio-operator", force=True))
    # A restart and a note for an operator are requests, not changes of the desired state.
    await person.kubectl("rollout", "restart", "deployment/front")
    await person.kubectl("annotate", "deployment", "front", "autoscaling.keda.sh/paused=true")
    await world.merge(front, {"spec": {"x": "2"}})
    await world.settled(front)

    async def stay() -> None:
        found = await world.get(app)
        assert found["spec"]["replicas"] == 3
        assert containers(found) == ["main", "proxy"]
        restarted = found["spec"]["template"]["metadata"]["annotations"]
        assert "kubectl.kubernetes.io/restartedAt" in restarted
        assert annotations(found)["autoscaling.keda.sh/paused"] == "true"

    await world.holds(stay, during=3.0)


async def test_better_replicas_of_the_template_are_set_again(world: World, person: Person) -> None:
    front = await shop(world, node("app", deployment(NAME, replicas=1)))
    app = world.ref("apps/v1", "Deployment", "front")
    await person.kubectl("scale", "deployment", "front", "--replicas=3")

    async def scaled_back() -> None:
        assert (await world.get(app))["spec"]["replicas"] == 1

    await world.until(scaled_back)
    await world.settled(front)


async def test_better_replicas_under_an_autoscaler_may_be_ignored(
    world: World, person: Person
) -> None:
    rule = {DRIFT_IGNORE: "[{target: {kind: Deployment}, paths: [/spec/replicas]}]"}
    container = deployment(NAME, image="web:${schema.spec.x}", replicas=1)
    front = await shop(world, node("app", container), annotations=rule)
    app = world.ref("apps/v1", "Deployment", "front")
    await person.kubectl("scale", "deployment", "front", "--replicas=5")

    async def scaled() -> KubeObject:
        found = await world.get(app)
        assert found["spec"]["replicas"] == 5
        return found

    await world.holds(scaled, during=3.0)
    # A new image is applied without touching what the autoscaler set.
    await world.merge(front, {"spec": {"x": "2"}})
    await becomes(world, app, "metadata.generation", (await scaled())["metadata"]["generation"] + 1)
    found = await scaled()
    assert found["spec"]["template"]["spec"]["containers"][0]["image"] == "web:2"
    await world.settled(front)
    # So is a repair of another field.
    await person.kubectl("set", "image", "deployment/front", "main=web:9")

    async def repaired() -> None:
        assert (await scaled())["spec"]["template"]["spec"]["containers"][0]["image"] == "web:2"

    await world.until(repaired)
    await scaled()


async def test_better_a_definition_can_leave_added_fields_alone(
    world: World, person: Person
) -> None:
    front = await shop(
        world, node("cm", config_map(NAME, {"x": "1"})), annotations={DRIFT_ADDED_FIELDS: "keep"}
    )
    cm = world.ref("v1", "ConfigMap", "front")
    await person.kubectl("patch", "configmap", "front", "-p", patch({"data": {"y": "2"}}))

    async def stays() -> None:
        assert (await world.get(cm))["data"] == {"x": "1", "y": "2"}

    await world.holds(stays, during=3.0)
    # The instance decides otherwise, and at once.
    await world.merge(front, {"metadata": {"annotations": {DRIFT_ADDED_FIELDS: "own"}}})
    await becomes(world, cm, "data", {"x": "1"})


async def test_better_an_adopted_object_keeps_what_its_creator_set(
    world: World, person: Person
) -> None:
    await person.kubectl("create", "configmap", "front", "--from-literal=y=2")
    made = world.definition("Shop", resources=[node("cm", config_map(NAME, {"x": "1"}))])
    adopting = {"gitops.kro.run/adopt": "true"}
    await serve(world, made, front := world.instance("Shop", "front", annotations=adopting))
    await world.settled(front)
    cm = world.ref("v1", "ConfigMap", "front")
    # Also after it may not adopt any more: the object shows that it was there before.
    await world.merge(front, {"metadata": {"annotations": {"gitops.kro.run/adopt": None}}})
    await person.kubectl("label", "configmap", "front", "example.org/team=blue")

    async def stays() -> None:
        assert (await world.get(cm))["data"] == {"x": "1", "y": "2"}

    await world.holds(stays, during=3.0)
    await world.merge(front, {"metadata": {"annotations": {DRIFT_ADDED_FIELDS: "all"}}})
    await becomes(world, cm, "data", {"x": "1"})


async def test_better_what_cannot_be_removed_stays_and_does_no_harm(
    world: World, person: Person
) -> None:
    front = await shop(world, node("cm", config_map(NAME, {"x": "1"})))
    cm = world.ref("v1", "ConfigMap", "front")
    await person.kubectl("patch", "configmap", "front", "-p", patch({"immutable": True}))

    async def reported() -> None:
        said = await person.kubectl("get", "events", "-o", "custom-columns=R:.reason,M:.message")
        assert "NotRepaired" in said.out, said
        assert "immutable cannot be removed" in said.out

    await world.until(reported)
    await world.settled(front)
    managers = [each["manager"] for each in (await world.get(cm))["metadata"]["managedFields"]]
    assert "kubectl-patch" in managers, "the field is given back"


async def test_better_a_child_that_is_changed_again_and_again_is_reported_and_repaired_later(
    world: World, person: Person
) -> None:
    front = await shop(world, node("cm", config_map(NAME, {"x": "1"})))
    cm, rival = world.ref("v1", "ConfigMap", "front"), WriteOptions("rival", force=True)

    async def reported() -> None:
        await becomes(world, cm, "data", {"x": "1"})
        await world.cluster.patch(cm, MergePatch({"data": {"x": "2"}}), rival)
        said = await person.kubectl("get", "events", "-o", "custom-columns=R:.reason,M:.message")
        assert "RepairDelayed" in said.out, said
        assert "front is changed again and again by field manager 'rival'" in said.out

    await world.until(reported)
    await world.in_state(front, "ACTIVE")
    await becomes(world, cm, "data", {"x": "1"})


@pytest.mark.parametrize("text", ["[{paths: [spec/replicas]}]", "paths: [", "[{path: [/a]}]"])
async def test_better_rules_that_cannot_be_read_are_reported(world: World, text: str) -> None:
    made = world.definition("Shop", resources=[node("cm", config_map(NAME, {"x": "1"}))])
    await serve(world, made)
    await world.create(front := world.instance("Shop", "front", annotations={DRIFT_IGNORE: text}))
    failed = await world.in_state(front, "ERROR")
    assert "annotation gitops.kro.run/drift-ignore: " in str(failed["status"]["conditions"])
    await world.merge(front, {"metadata": {"annotations": {DRIFT_IGNORE: None}}})
    await world.settled(front)
    await world.merge(made, {"metadata": {"annotations": {DRIFT_IGNORE: text}}})
    refused = await world.inactive(made)
    assert "annotation gitops.kro.run/drift-ignore: " in str(refused["status"]["conditions"])
