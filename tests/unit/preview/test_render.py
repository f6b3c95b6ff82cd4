from typing import Any

import pytest

from kro_gitops.engine.graph.build import try_build
from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.engine.options import Options
from kro_gitops.engine.plan.evaluation import Bounds
from kro_gitops.engine.plan.placeholder import PartText, Placeholder, shown
from kro_gitops.preview.render import MAX_NESTING, Child, Renderer, Rendering, node_values, render
from kro_gitops.preview.sample_data import LiveData
from kube_cel.budget import Budget
from kube_objects.builtins.catalog import catalog
from kube_objects.schemas import LayeredSchemas, SchemaSet
from tests.builders import KIND, config_map, definition, graph, instance, resource

DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "${schema.metadata.name}"},
    "spec": {"replicas": "${schema.spec.size}"},
}
WORD = {"word": "string"}
SPEC = {"size": "integer | default=2", "names": "[]string", "note": "string", "on": "boolean"}


def rendered(
    *resources: dict[str, Any],
    live: dict[str, Any] | None = None,
    given: dict[str, Any] | None = None,
    **more: Any,
) -> Rendering:
    fields = {**SPEC, "qs": "[]Q"} if "types" in more else SPEC
    compiled = graph(definition(*resources, spec=fields, **more), Options(omit=True))
    data = LiveData.of_documents([live]) if live else None
    spec = {"note": "n", "names": ["a", "b"], **(given or {})}
    return render(compiled, instance(spec), data)


def only(rendering: Rendering) -> Child:
    assert rendering.failures == []
    (child,) = rendering.children
    return child


def data_of(*resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return the data of the last child."""
    rendering = rendered(*resources, **more)
    assert rendering.failures == []
    found: dict[str, Any] = rendering.children[-1].object["data"]
    return found


def test_defaults_are_filled_in_as_the_api_server_does() -> None:
    assert only(rendered(resource("d", DEPLOYMENT))).object["spec"]["replicas"] == 2


def test_a_namespaced_child_gets_the_namespace_of_its_instance() -> None:
    assert only(rendered(resource())).object["metadata"]["namespace"] == "town"


def test_a_childs_own_namespace_stays() -> None:
    body = config_map()
    body["metadata"]["namespace"] = "elsewhere"
    assert only(rendered(resource("cm", body))).object["metadata"]["namespace"] == "elsewhere"


def test_what_a_template_says_is_known_to_others() -> None:
    body = config_map("x", size="${string(d.spec.replicas)}", owner="${d.metadata.name}")
    found = data_of(resource("d", DEPLOYMENT), resource("cm", body))
    assert found == {"size": "2", "owner": "corner"}


def test_what_a_controller_writes_is_a_typed_placeholder() -> None:
    body = config_map("x", ready="${string(d.status.readyReplicas)}")
    value = data_of(resource("d", DEPLOYMENT), resource("cm", body))["ready"]
    assert value == Placeholder(("d.status.readyReplicas",), "string")
    assert str(value) == "⟨known after apply: d.status.readyReplicas⟩"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("${has(d.status) ? 'yes' : 'no'}", id="has() is not false"),
        pytest.param("${string(d.?status.?replicas.orValue(0))}", id="an optional is not none"),
        pytest.param("${string(size(d.metadata.labels))}", id="labels may be added by others"),
        pytest.param("${string(d.spec.?paused.orValue(false))}", id="a default may be filled in"),
        pytest.param("${d.metadata.uid}", id="a uid is given by the API server"),
        pytest.param("${schema.metadata.uid}", id="also the instance's"),
    ],
)
def test_nothing_is_guessed(text: str) -> None:
    found = data_of(resource("d", DEPLOYMENT), resource("cm", config_map("x", v=text)))["v"]
    assert isinstance(found, Placeholder)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("${true || has(d.status) ? 'yes' : 'no'}", "yes", id="decided by the left"),
        pytest.param("${has(d.status) || true ? 'yes' : 'no'}", "yes", id="decided by the right"),
        pytest.param("${schema.spec.size > 1 ? 'a' : d.metadata.uid}", "a", id="other branch"),
        pytest.param(
            '${schema.metadata.?annotations["team"].orValue("none")}', "none", id="absent in git"
        ),
    ],
)
def test_what_can_be_decided_is_decided(text: str, value: str) -> None:
    body = config_map("x", v=text)
    assert data_of(resource("d", DEPLOYMENT), resource("cm", body))["v"] == value


def test_argo_cds_tracking_id_is_stamped_later() -> None:
    text = '${schema.metadata.?annotations["argocd.argoproj.io/tracking-id"].orValue("")}'
    assert isinstance(data_of(resource("cm", config_map("x", v=text)))["v"], Placeholder)


def test_the_known_pieces_of_a_text_are_shown() -> None:
    body = config_map("x", url="http://${cm.metadata.name}.${d.metadata.uid}:80")
    found = data_of(resource("d", DEPLOYMENT), resource("cm"), resource("last", body))["url"]
    assert isinstance(found, PartText)
    assert str(found) == "http://corner.⟨known after apply: d.metadata.uid⟩:80"


def test_an_unknown_passes_on_to_who_reads_it() -> None:
    first = config_map("first", id="${schema.metadata.uid}")
    second = config_map("second", v="${a.data.id}")
    found = data_of(resource("a", first), resource("b", second))["v"]
    assert found == Placeholder(("a.data.id",), "string")


def test_a_map_whose_keys_the_author_chose_is_complete() -> None:
    first = config_map("first", k="v")
    second = {**config_map("second"), "data": "${a.data}"}
    assert data_of(resource("a", first), resource("b", second)) == {"k": "v"}


def test_an_excluded_node_takes_along_who_needs_it() -> None:
    rendering = rendered(
        resource("a", includeWhen=["${schema.spec.on}"]),
        resource("b", config_map("b", v="${a.metadata.name}")),
        resource("c", config_map("c", v="${b.metadata.name}")),
        given={"on": False},
    )
    assert rendering.excluded == ["a", "b", "c"]
    assert rendering.children == []


def test_a_condition_on_live_data_makes_a_maybe_and_passes_on() -> None:
    rendering = rendered(
        resource("d", DEPLOYMENT),
        resource("b", config_map("b"), includeWhen=["${d.status.readyReplicas > 0}"]),
        resource("c", config_map("c", v="${b.metadata.name}")),
    )
    maybes = [child.maybe for child in rendering.children]
    assert maybes[0] is None
    assert maybes[1] == maybes[2] == Placeholder(("d.status.readyReplicas",), "bool")


def test_a_collection_has_a_child_for_each_element_in_order() -> None:
    rendering = rendered(
        resource(
            "c",
            config_map("${n}-${string(i)}"),
            forEach=[{"n": "${schema.spec.names}"}, {"i": "${[1, 2]}"}],
        )
    )
    names = [child.object["metadata"]["name"] for child in rendering.children]
    assert names == ["a-1", "a-2", "b-1", "b-2"]


def test_a_collection_of_unknown_length_shows_its_pattern() -> None:
    rendering = rendered(
        resource("d", DEPLOYMENT),
        resource(
            "c",
            config_map("x-${t}"),
            forEach=[{"t": "${d.status.conditions.map(c, c.type)}"}],
        ),
        resource("e", config_map("e", n="${string(size(c))}")),
    )
    _, pattern, reader = rendering.children
    assert pattern.each == Placeholder(("d.status.conditions",), "list(string)")
    assert shown(pattern.object)["metadata"]["name"] == "x-⟨known after apply: each t⟩"
    assert reader.object["data"]["n"] == Placeholder(("c",), "string")


def test_an_iterator_over_objects_reads_their_fields() -> None:
    rendering = rendered(
        resource(
            "c",
            config_map("${q.name}", n="${string(q.n)}"),
            forEach=[{"q": "${schema.spec.qs}"}],
        ),
        types={"Q": {"name": "string", "n": "integer | default=7"}},
        given={"names": None, "qs": [{"name": "x"}, {"name": "y", "n": 2}]},
    )
    assert [child.object["data"] for child in rendering.children] == [{"n": "7"}, {"n": "2"}]


def test_a_missing_optional_field_makes_its_node_wait_and_who_needs_it() -> None:
    rendering = rendered(
        resource("a", config_map("a", v="${string(schema.spec.on)}")),
        resource("b", config_map("b", v="${a.metadata.name}")),
    )
    (failure,) = rendering.failures
    assert (failure.node, failure.is_pending) == ("a", True)
    assert rendering.waiting == {"a": "a", "b": "a"}


def test_a_fatal_error_is_told_from_waiting() -> None:
    rendering = rendered(resource("a", config_map("a", v="${string(1 / (schema.spec.size - 2))}")))
    (failure,) = rendering.failures
    assert not failure.is_pending
    assert failure.code == "evaluation-failed"
    assert failure.text == 'node "a": eval "string(1 / (schema.spec.size - 2))": division by zero'


def test_given_status_takes_the_place_of_a_cluster() -> None:
    body = config_map("x", ready="${string(d.status.readyReplicas)}", u="${d.metadata.uid}")
    found = data_of(
        resource("d", DEPLOYMENT),
        resource("cm", body),
        live={"d": {"status": {"readyReplicas": 3}}},
    )
    assert found["ready"] == "3"
    assert isinstance(found["u"], Placeholder)


def test_a_whole_live_object_has_no_unknowns() -> None:
    live = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "corner", "namespace": "town", "uid": "u-1"},
        "spec": {"replicas": 2},
    }
    body = config_map("x", u="${d.metadata.uid}", has="${has(d.status) ? 'yes' : 'no'}")
    found = data_of(resource("d", DEPLOYMENT), resource("cm", body), live=live)
    assert found == {"u": "u-1", "has": "no"}


def test_omitted_fields_disappear() -> None:
    body = config_map("x", a="${schema.spec.size > 1 ? omit() : 'x'}", b="${schema.spec.note}")
    assert data_of(resource("cm", body)) == {"b": "n"}


def test_a_collection_over_the_limit_is_a_failure_of_its_node() -> None:
    compiled = graph(
        definition(
            resource("c", config_map("x-${string(i)}"), forEach=[{"i": "${lists.range(11)}"}])
        )
    )
    (failure,) = render(compiled, instance(), bounds=Bounds(collection_size=10)).failures
    assert "collection size of 11 is over the maximum collection size of 10" in failure.text


def test_fields_of_listed_objects_are_known_one_by_one() -> None:
    pod = {"containers": [{"name": "app", "image": "x:1"}]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod}
    body = {**DEPLOYMENT, "spec": {"template": template}}
    first = "d.spec.template.spec.containers[0]"
    reader = config_map("x", i=f"${{{first}.image}}", p=f"${{{first}.imagePullPolicy}}")
    found = data_of(resource("d", body), resource("cm", reader))
    assert found["i"] == "x:1"
    assert isinstance(found["p"], Placeholder)


def test_an_instance_may_not_keep_the_process_busy() -> None:
    text = "${string(lists.range(1000).map(a, lists.range(1000).map(b, a + b)).size())}"
    compiled = graph(definition(resource("cm", config_map("x", v=text))))
    bounds = Bounds(budget=lambda: Budget(deadline=lambda: True))
    (failure,) = render(compiled, instance(), bounds=bounds).failures
    assert not failure.is_pending
    assert "evaluation stopped" in failure.text


def test_rendering_leaves_the_template_as_it_was() -> None:
    compiled = graph(definition(resource("d", DEPLOYMENT), resource("cm"), spec=SPEC))
    before = {name: str(node.body) for name, node in compiled.nodes.items()}
    first = render(compiled, instance({"size": 3}))
    second = render(compiled, instance({"size": 4}, namespace="city"))
    assert {name: str(node.body) for name, node in compiled.nodes.items()} == before
    assert first.children[0].object["spec"]["replicas"] == 3
    assert second.children[0].object["metadata"]["namespace"] == "city"
    assert first.children[0].object["metadata"]["namespace"] == "town"


def test_fields_and_conditions_are_within_the_budget_of_their_instance() -> None:
    loop = "lists.range(3).exists(x, x == 1)"
    field = resource("a", config_map("a", v=f"${{{loop} ? 'x' : 'y'}}"))
    condition = resource("b", config_map("b"), includeWhen=[f"${{{loop}}}"])
    bounds = Bounds(budget=lambda: Budget(iterations=0))
    failures = render(graph(definition(field, condition)), instance(), bounds=bounds).failures
    assert [failure.node for failure in failures] == ["a", "b"]


def turtle(**more: Any) -> Graph:
    """Return a graph that makes an instance of its own kind."""
    own = graph(definition(resource(), spec={"left": "integer"}))
    body = {
        "apiVersion": "kro.run/v1",
        "kind": KIND,
        "metadata": {"name": "${schema.metadata.name}-x"},
        "spec": {"left": "${schema.spec.left - 1}"},
    }
    schemas = SchemaSet()
    schemas.add(own.served)
    made = definition(resource("down", body, **more), spec={"left": "integer"})
    found = try_build(made, LayeredSchemas(schemas, catalog))
    assert found.graph is not None
    return found.graph


def test_nested_instances_are_rendered_to_the_last_level() -> None:
    made = turtle(includeWhen=["${schema.spec.left > 0}"])
    renderer = Renderer({made.served.kind: made})
    found = list(renderer.render(made, instance({"left": 3})).all())
    assert [each.instance.name for each in found] == [
        "corner",
        "corner-x",
        "corner-x-x",
        "corner-x-x-x",
    ]
    assert [len(each.children) for each in found] == [1, 1, 1, 0]
    labels = found[1].children[0].object["metadata"]["labels"]
    assert labels["kro.run/instance-name"] == "corner-x"


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_depth_limits_how_many_levels_are_rendered(depth: int) -> None:
    made = turtle(includeWhen=["${schema.spec.left > 0}"])
    renderer = Renderer({made.served.kind: made}, depth=depth)
    assert len(list(renderer.render(made, instance({"left": 9})).all())) == depth + 1


def test_an_endless_recursion_is_an_error() -> None:
    made = turtle()
    parts = list(Renderer({made.served.kind: made}).render(made, instance({"left": 1})).all())
    assert len(parts) == MAX_NESTING + 1
    (failure,) = [failure for part in parts for failure in part.failures]
    assert failure.code == "nesting-too-deep"


def test_a_nested_instance_reads_the_unknown_values_of_the_one_that_makes_it() -> None:
    inner = graph(definition(resource("cm", config_map("x", v="${schema.spec.word}")), spec=WORD))
    schemas = SchemaSet()
    schemas.add(inner.served)
    body = {
        "apiVersion": "kro.run/v1",
        "kind": KIND,
        "metadata": {"name": "inner", "labels": {"team": "${schema.metadata.uid}"}},
        "spec": {"word": "${schema.metadata.uid}"},
    }
    outer = definition(resource("inner", body))
    outer["metadata"]["name"], outer["spec"]["schema"]["kind"] = "outer", "Outer"
    made = try_build(outer, LayeredSchemas(schemas, catalog)).graph
    assert made is not None
    renderer = Renderer({inner.served.kind: inner})
    rendering = renderer.render(made, {**instance(), "kind": "Outer"})
    (child,) = rendering.nested[0].children
    assert child.object["data"]["v"] == Placeholder(("schema.spec.word",), "string")
    assert isinstance(child.object["metadata"]["labels"]["team"], Placeholder)


def test_an_instance_without_a_namespace_goes_to_the_default_one() -> None:
    obj = instance()
    del obj["metadata"]["namespace"]
    made = graph(definition(resource()))
    for renderer, namespace in ((Renderer(), "default"), (Renderer(namespace="shop"), "shop")):
        rendering = renderer.render(made, obj)
        assert rendering.instance.namespace == namespace
        assert only(rendering).object["metadata"]["namespace"] == namespace


def test_an_instance_whose_inventory_is_wrong_is_not_managed() -> None:
    obj = instance(annotations={"applyset.kubernetes.io/contains-group-kinds": "ConfigMap"})
    rendering = render(graph(definition(resource())), obj)
    assert rendering.children == []
    (failure,) = rendering.failures
    assert failure.code == "invalid-inventory"
    assert "cannot install finalizer with invalid ApplySet inventory" in failure.text


def test_a_secret_is_shown_as_it_is_stored() -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "x"},
        "data": {"old": "b2xk"},
        "stringData": {"known": "${schema.spec.note}", "unknown": "${schema.metadata.uid}"},
    }
    secret = only(rendered(resource("s", body))).object
    assert "stringData" not in secret
    assert secret["data"] == {
        "old": "b2xk",
        "known": "bg==",
        "unknown": Placeholder(("schema.metadata.uid",), "string"),
    }


def test_a_readiness_condition_that_fails_is_a_failure_of_its_node() -> None:
    condition = "${string(1 / 0) == 'x'}"
    rendering = rendered(resource("a", config_map("a"), readyWhen=[condition]))
    assert [child.node for child in rendering.children] == ["a"]
    (failure,) = rendering.failures
    assert (failure.node, failure.code) == ("a", "evaluation-failed")
    assert "division by zero" in failure.text


def test_a_node_that_fails_leaves_the_others_their_values() -> None:
    made = graph(
        definition(
            resource("a", config_map("a", v="${string(1 / 0)}")),
            resource("b", config_map("b", v="x")),
        )
    )
    assert node_values(made, instance())["b"]["data"] == {"v": "x"}


@pytest.mark.parametrize(
    "key", ["applyset.kubernetes.io/contains-group-kinds", "kro.run/reconcile"]
)
def test_an_annotation_that_is_no_text_is_for_the_server_to_reject(key: str) -> None:
    obj = instance(annotations={key: 5, "argocd.argoproj.io/tracking-id": 7}, labels={"a": 1})
    assert only(render(graph(definition(resource())), obj)).node == "cm"


def test_what_is_applied_although_another_node_is_rejected_later() -> None:
    named = {"name": "outside", "namespace": "town"}
    outside = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named}
    rendering = rendered(
        {"id": "outside", "externalRef": outside},
        resource("wrong", config_map("wrong", a="${outside.metadata.name + string(1 / 0)}")),
        resource("one", config_map("one")),
        resource("two", config_map("two", a="${one.metadata.name}")),
    )
    # The first pass is rejected when `two` would be applied; the next one need not wait for `one`.
    assert [child.node for child in rendering.children] == ["one", "two"]
    assert [failure.node for failure in rendering.failures] == ["wrong"]
