"""What others made, in a pass: read, selected, waited for."""

from typing import Any

from kro_gitops.engine.plan.steps import Read
from kro_gitops.engine.status import State, summarize
from tests.builders import config_map, definition, graph, instance, resource
from tests.small_cluster import SmallCluster


def message(run: Any) -> str:
    return summarize(run).condition.message or ""


def external(**metadata: Any) -> dict[str, Any]:
    ref = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    return {"id": "input", "externalRef": ref}


def reads_input() -> Any:
    return graph(
        definition(
            external(name="settings"),
            resource("cm", config_map("copy", x="${input.data.x}")),
        )
    )


def their(name: str, namespace: str = "town", **data: str) -> dict[str, Any]:
    found = config_map(name, **data)
    found["metadata"].update(namespace=namespace, labels={"team": name})
    return found


def test_a_missing_external_object_is_waited_for() -> None:
    cluster = SmallCluster()
    run = cluster.run(reads_input(), instance())
    assert cluster.applied == []
    verdict = summarize(run)
    assert verdict.condition.message == (
        "resource reconciliation failed: apply results contain errors: "
        'waiting for external reference "input": not found: ConfigMap town/settings'
    )
    assert verdict.state is State.IN_PROGRESS
    assert verdict.failures == ()
    assert not run.is_complete


def test_an_external_object_is_read_in_the_instances_namespace() -> None:
    cluster = SmallCluster(their("settings", x="1"))
    run = cluster.run(reads_input(), instance())
    first = cluster.steps[0]
    assert isinstance(first, Read)
    assert (first.ref.namespace, first.ref.name) == ("town", "settings")
    assert cluster.named("copy")["data"] == {"x": "1"}
    assert run.is_complete
    assert [each.ref.name for each in run.targets()] == ["copy"]


def test_an_external_object_may_not_be_ready() -> None:
    made = graph(definition({**external(name="settings"), "readyWhen": ["${input.data.x == '2'}"]}))
    run = SmallCluster(their("settings", x="1")).run(made, instance())
    assert message(run) == (
        "resource reconciliation failed: apply results contain errors: "
        'waiting for external reference "input": readyWhen condition evaluated to false: '
        "\"input.data.x == '2'\" (waiting for readiness)"
    )


def selecting(selector: dict[str, Any]) -> Any:
    return graph(
        definition(
            external(selector=selector),
            resource("cm", config_map("names", all="${input.map(i, i.metadata.name).join(',')}")),
            spec={"team": "string"},
        )
    )


def test_a_selector_finds_objects_everywhere() -> None:
    made = selecting(
        {"matchExpressions": [{"key": "team", "operator": "In", "values": ["a", "b"]}]}
    )
    cluster = SmallCluster(their("b"), their("a", "elsewhere"), their("c"))
    cluster.run(made, instance({"team": "a"}))
    assert cluster.named("names")["data"] == {"all": "a,b"}


def test_a_selector_that_finds_nothing_is_no_trouble() -> None:
    made = selecting({"matchLabels": {"team": "${schema.spec.team}"}})
    cluster = SmallCluster()
    run = cluster.run(made, instance({"team": "a"}))
    assert cluster.named("names")["data"] == {"all": ""}
    assert summarize(run).state is State.ACTIVE


def test_an_external_object_that_cannot_be_read_is_an_error() -> None:
    made = reads_input()
    cluster = SmallCluster()
    run = cluster.begin(made, instance())
    (step,) = run.advance()
    run.failed(step, "forbidden")
    assert run.advance() == ()
    assert summarize(run).state is State.ERROR
    assert summarize(run).failures == ("forbidden",)
