"""Collections in a pass: they grow and shrink, multiply, collide, and have a limit."""

from typing import Any

from kro_gitops.engine.plan.evaluation import Bounds
from kro_gitops.engine.status import State, summarize
from kro_gitops.metadata import COLLECTION_INDEX, COLLECTION_SIZE
from tests.builders import config_map, definition, graph, instance, resource
from tests.small_cluster import SmallCluster


def message(run: Any) -> str:
    return summarize(run).condition.message or ""


def words(*extra: dict[str, Any], **more: Any) -> Any:
    """One config map for each word, and what reads them all."""
    return graph(
        definition(
            resource(
                "words",
                config_map("${schema.metadata.name + '-' + word}", word="${word}"),
                forEach=[{"word": "${schema.spec.words}"}],
                **more,
            ),
            *extra,
            spec={"words": "[]string"},
        )
    )


def positions(cluster: SmallCluster) -> dict[str, tuple[str, str]]:
    found = {ref.name: obj["metadata"]["labels"] for ref, obj in cluster.children.items()}
    return {
        name: (labels[COLLECTION_INDEX], labels[COLLECTION_SIZE]) for name, labels in found.items()
    }


def test_each_element_makes_an_object_that_knows_its_place() -> None:
    cluster = SmallCluster()
    run = cluster.run(words(), instance({"words": ["a", "b"]}))
    assert positions(cluster) == {"corner-a": ("0", "2"), "corner-b": ("1", "2")}
    assert summarize(run).state is State.ACTIVE


def test_a_collection_that_grew_leaves_nothing_as_it_was_but_makes_only_the_new() -> None:
    cluster = SmallCluster()
    cluster.run(words(), instance({"words": ["a"]}))
    before = cluster.named("corner-a")["metadata"]["uid"]
    cluster.run(words(), instance({"words": ["a", "b"]}))
    assert positions(cluster) == {"corner-a": ("0", "2"), "corner-b": ("1", "2")}
    assert cluster.named("corner-a")["metadata"]["uid"] == before


def test_what_a_collection_no_longer_has_is_no_longer_desired() -> None:
    cluster = SmallCluster()
    cluster.run(words(), instance({"words": ["a", "b"]}))
    run = cluster.run(words(), instance({"words": ["b"]}))
    assert [each.ref.name for each in run.targets()] == ["corner-b"]
    assert run.is_complete


def test_an_empty_collection_is_ready_and_a_value() -> None:
    reader = resource("sum", config_map("sum", size="${string(size(words))}"))
    cluster = SmallCluster()
    run = cluster.run(words(reader), instance({"words": []}))
    assert cluster.applied == ["sum"]
    assert cluster.named("sum")["data"] == {"size": "0"}
    assert summarize(run).state is State.ACTIVE


def test_dimensions_multiply_the_last_turning_fastest() -> None:
    made = graph(
        definition(
            resource(
                "words",
                config_map("${a + '-' + b}"),
                forEach=[{"a": "${schema.spec.one}"}, {"b": "${schema.spec.two}"}],
            ),
            spec={"one": "[]string", "two": "[]string"},
        )
    )
    cluster = SmallCluster()
    cluster.run(made, instance({"one": ["x", "y"], "two": ["1", "2"]}))
    assert cluster.applied == ["x-1", "x-2", "y-1", "y-2"]
    run = cluster.run(made, instance({"one": ["x", "y"], "two": []}))
    assert list(run.targets()) == []


def test_two_elements_cannot_be_one_object() -> None:
    cluster = SmallCluster()
    run = cluster.run(words(), instance({"words": ["a", "a"]}))
    assert cluster.applied == []
    text = message(run)
    assert 'node "words" identity collision: duplicate identity: /v1/ConfigMap/' in text
    assert text.endswith("/corner-a")
    assert summarize(run).state is State.ERROR


def test_a_collection_has_a_limit() -> None:
    run = SmallCluster().run(words(), instance({"words": ["a", "b", "c"]}), Bounds(2))
    assert message(run) == (
        "resource reconciliation failed: "
        "collection size of 3 is over the maximum collection size of 2"
    )


def test_every_item_must_be_ready() -> None:
    made = words(
        resource("after", config_map("after", all="${words.map(i, i.data.word).join('')}")),
        readyWhen=["${each.data.done == 'yes'}"],
    )
    cluster = SmallCluster()
    run = cluster.run(made, instance({"words": ["a", "b"]}))
    assert message(run) == (
        "resource reconciliation failed: apply results contain errors: "
        'waiting for node "words": node "words": failed to evaluate readyWhen '
        "\"each.data.done == 'yes'\" (item 0) (waiting for readiness)"
    )
    for name in ("corner-a", "corner-b"):
        cluster.change(name, lambda obj: obj["data"].update(done="yes"))
    run = cluster.run(made, instance({"words": ["a", "b"]}))
    assert cluster.applied == ["after"]
    assert cluster.named("after")["data"] == {"all": "ab"}


def test_an_item_that_failed_is_named_by_its_place() -> None:
    cluster = SmallCluster()
    cluster.refused["corner-b"] = "quota exceeded"
    run = cluster.run(words(), instance({"words": ["a", "b", "c"]}))
    assert cluster.names == ["corner-a", "corner-c"]
    verdict = summarize(run)
    assert verdict.failures == ("collection item 1: quota exceeded",)
    assert verdict.state is State.ERROR
    assert not run.is_complete


def test_a_list_that_is_not_there_yet_is_waited_for() -> None:
    made = graph(
        definition(
            resource("source", config_map("source")),
            resource(
                "words",
                config_map("${'item-' + word}"),
                forEach=[{"word": "${source.data.words.split(',')}"}],
            ),
            resource("after", config_map("after", n="${string(size(words))}")),
        )
    )
    cluster = SmallCluster()
    run = cluster.run(made, instance())
    assert message(run) == (
        "resource reconciliation failed: waiting for unresolved resource: "
        'gvr "/v1, Resource=configmaps": data pending'
    )
    assert run.runs["after"].pending == (
        'node "after": dependent node "words" not ready: node "words": '
        "collection not computed (waiting for readiness) (data pending)"
    )
    cluster.change("source", lambda obj: obj["data"].update(words="a,b"))
    cluster.run(made, instance())
    assert cluster.applied == ["item-a", "item-b", "after"]


def test_an_item_that_goes_ends_the_pass() -> None:
    cluster = SmallCluster()
    cluster.run(words(), instance({"words": ["a", "b"]}))
    stamp = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    cluster.change("corner-b", lambda obj: obj["metadata"].update(stamp))
    run = cluster.run(words(), instance({"words": ["a", "b", "c"]}))
    assert cluster.applied == []
    assert message(run).startswith('resource "town/corner-b" for node "words" is currently')


def test_an_item_of_another_instance_is_not_taken() -> None:
    made = graph(
        definition(
            resource("words", config_map("${w}"), forEach=[{"w": "${schema.spec.words}"}]),
            spec={"words": "[]string"},
        )
    )
    cluster = SmallCluster()
    cluster.run(made, instance({"words": ["b"]}, name="other", uid="uid-of-other"))
    run = cluster.run(made, instance({"words": ["a", "b"]}))
    assert cluster.applied == ["a"]
    assert message(run).startswith(
        "resource reconciliation failed: apply results contain errors: collection item 1: "
        "resource belongs to a different ApplySet: town/b"
    )
