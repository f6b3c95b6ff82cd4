from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kro_gitops.errors import UserError
from kro_gitops.tracking.ignored_fields import IgnoreRule, parse_pointer, without_ignored
from kube_objects.refs import KubeObject

US = "kro-gitops/source"


def deployment(replicas: int = 2, image: str = "web:1", **metadata: Any) -> KubeObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "api", "namespace": "prod", **metadata},
        "spec": {
            "replicas": replicas,
            "template": {
                "spec": {
                    "containers": [
                        {"name": "web", "image": image, "args": ["a", "b"]},
                        {"name": "log", "image": "log:1"},
                    ]
                }
            },
        },
    }


def applied(manager: str, fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"manager": manager, "operation": "Apply", "fieldsV1": fields, **more}


def live(*entries: dict[str, Any], **changes: Any) -> KubeObject:
    return deployment(**changes, managedFields=list(entries))


def ignored(desired: KubeObject, found: KubeObject | None, *pointers: str) -> KubeObject:
    before = deepcopy(desired)
    result = without_ignored(desired, found, (IgnoreRule(pointers),), US)
    assert desired == before
    return result


def containers(obj: KubeObject) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = obj["spec"]["template"]["spec"]["containers"]
    return found


REPLICAS: dict[str, Any] = {"f:spec": {"f:replicas": {}}}


def test_the_live_value_is_taken_over_if_nobody_else_applies_it() -> None:
    assert ignored(deployment(), live(replicas=7), "/spec/replicas") == deployment(7)


def test_a_field_that_another_manager_applies_is_left_out() -> None:
    found = ignored(deployment(), live(applied("scaler", REPLICAS), replicas=7), "/spec/replicas")
    assert "replicas" not in found["spec"]
    assert found["spec"]["template"] == deployment()["spec"]["template"]


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(applied(US, REPLICAS), id="we apply it"),
        pytest.param({**applied("hpa", REPLICAS), "operation": "Update"}, id="an update"),
        pytest.param(applied("hpa", REPLICAS, subresource="scale"), id="by a subresource"),
        pytest.param(applied("other", {"f:spec": {"f:paused": {}}}), id="another field"),
        pytest.param(applied("other", {}), id="nothing"),
    ],
)
def test_who_else_does_not_apply_it_does_not_count(entry: dict[str, Any]) -> None:
    found = ignored(deployment(), live(entry, replicas=7), "/spec/replicas")
    assert found["spec"]["replicas"] == 7


def test_an_object_that_does_not_exist_is_made_as_git_has_it() -> None:
    assert ignored(deployment(), None, "/spec/replicas") == deployment()


def test_a_field_that_somebody_removed_stays_removed() -> None:
    found = live()
    del found["spec"]["replicas"]
    assert "replicas" not in ignored(deployment(), found, "/spec/replicas")["spec"]


def test_a_field_that_git_does_not_have_is_not_invented() -> None:
    desired = deployment()
    del desired["spec"]["replicas"]
    assert ignored(desired, live(replicas=7), "/spec/replicas", "/spec/paused/x") == desired


def test_items_with_names_are_found_by_them() -> None:
    found = live(image="web:2")
    containers(found).insert(0, {"name": "sidecar", "image": "mesh:1"})
    result = ignored(deployment(), found, "/spec/template/spec/containers/0/image")
    assert containers(result)[0] == {"name": "web", "image": "web:2", "args": ["a", "b"]}
    assert len(containers(result)) == 2


def test_an_item_that_another_manager_applies_is_left_out_alone() -> None:
    keyed: dict[str, Any] = {'k:{"name":"web"}': {".": {}, "f:name": {}, "f:image": {}}}
    fields = {"f:spec": {"f:template": {"f:spec": {"f:containers": keyed}}}}
    result = ignored(
        deployment(),
        live(applied("updater", fields), image="web:2"),
        "/spec/template/spec/containers/0/image",
        "/spec/template/spec/containers/1/image",
    )
    assert containers(result) == [
        {"name": "web", "args": ["a", "b"]},
        {"name": "log", "image": "log:1"},
    ]


def test_several_items_of_one_list_can_be_left_out() -> None:
    found = live()
    containers(found).clear()
    both = ("/spec/template/spec/containers/0", "/spec/template/spec/containers/1")
    assert containers(ignored(deployment(), found, both[0])) == [{"name": "log", "image": "log:1"}]
    assert containers(ignored(deployment(), found, *both)) == []
    assert containers(ignored(deployment(), found, *reversed(both))) == []


def test_a_list_of_plain_values_is_one_value() -> None:
    found = live()
    containers(found)[0]["args"] = ["c"]
    result = ignored(deployment(), found, "/spec/template/spec/containers/0/args")
    assert containers(result)[0]["args"] == ["c"]


def test_a_plain_list_that_somebody_applies_parts_of_is_not_ours_to_set() -> None:
    desired = deployment(finalizers=["a.io/x", "b.io/y"])
    entry = applied("other", {"f:metadata": {"f:finalizers": {'v:"a.io/x"': {}}}})
    found = live(entry, finalizers=["a.io/x"])
    assert "finalizers" not in ignored(desired, found, "/metadata/finalizers")["metadata"]


def test_an_item_can_be_meant_by_its_value() -> None:
    desired = deployment(finalizers=["a.io/x", "b.io/y"])
    entry = applied("other", {"f:metadata": {"f:finalizers": {'v:"a.io/x"': {}}}})
    found = live(entry, finalizers=["a.io/x", "b.io/y"])
    result = ignored(desired, found, "/metadata/finalizers/0")
    assert result["metadata"]["finalizers"] == ["b.io/y"]


def test_in_a_map_each_field_is_treated_by_itself() -> None:
    desired = deployment(labels={"team": "a", "tier": "x", "gone": "y", "same": "z"})
    entry = applied("other", {"f:metadata": {"f:labels": {"f:team": {}}}})
    found = live(entry, labels={"team": "b", "tier": "live", "same": "z", "theirs": "1"})
    result = ignored(desired, found, "/metadata/labels")
    assert result["metadata"]["labels"] == {"tier": "live", "same": "z"}


def test_a_map_of_which_nothing_is_left_is_left_out() -> None:
    desired = deployment(labels={"team": "a"})
    assert "labels" not in ignored(desired, live(), "/metadata/labels")["metadata"]


def test_what_another_manager_owns_as_a_whole_it_owns_with_all_that_is_in_it() -> None:
    entry = applied("other", {"f:spec": {"f:template": {}}})
    result = ignored(deployment(), live(entry), "/spec/template/spec/containers/0/image")
    assert "image" not in containers(result)[0]


def test_a_key_may_contain_slashes_and_tildes() -> None:
    desired = deployment(annotations={"example.io/a~b": "git", "example.io/c": "git"})
    found = live(annotations={"example.io/a~b": "live", "example.io/c": "live"})
    result = ignored(desired, found, "/metadata/annotations/example.io~1a~0b")
    assert result["metadata"]["annotations"] == {"example.io/a~b": "live", "example.io/c": "git"}


def test_a_rule_for_a_map_and_one_in_it_agree() -> None:
    desired = deployment(labels={"a": "git", "b": "git"})
    found = live(labels={"a": "live", "b": "live"})
    result = ignored(desired, found, "/metadata/labels/a", "/metadata/labels")
    assert result["metadata"]["labels"] == {"a": "live", "b": "live"}


@pytest.mark.parametrize(
    "pointer", ["", "/kind", "/apiVersion", "/metadata", "/metadata/name", "/metadata/namespace"]
)
def test_what_names_an_object_is_never_ignored(pointer: str) -> None:
    found = {**live(), "apiVersion": "apps/v2", "metadata": {"name": "other"}}
    assert ignored(deployment(), found, pointer) == deployment()


@pytest.mark.parametrize(
    ("rule", "fits"),
    [
        (IgnoreRule(("/spec/replicas",), "apps", "Deployment", "prod", "api"), True),
        (IgnoreRule(("/spec/replicas",), kind="Deployment"), True),
        (IgnoreRule(("/spec/replicas",), name="a*"), True),
        (IgnoreRule(("/spec/replicas",), kind="StatefulSet"), False),
        (IgnoreRule(("/spec/replicas",), group="batch"), False),
        (IgnoreRule(("/spec/replicas",), namespace="dev"), False),
        (IgnoreRule(("/spec/replicas",), name="ap"), False),
    ],
)
def test_rules_are_for_certain_objects(rule: IgnoreRule, fits: bool) -> None:
    result = without_ignored(deployment(), live(replicas=7), (rule,), US)
    assert result["spec"]["replicas"] == (7 if fits else 2)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("", ()),
        ("/", ("",)),
        ("/a/0/b", ("a", "0", "b")),
        ("/a~1b/c~0d/~01", ("a/b", "c~d", "~1")),
    ],
)
def test_pointers_are_read_as_the_standard_says(text: str, steps: tuple[str, ...]) -> None:
    assert parse_pointer(text) == steps


@pytest.mark.parametrize("text", ["spec/replicas", "/a~2", "/a~", "spec.replicas"])
def test_what_is_no_pointer_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="is not a JSON pointer") as caught:
        parse_pointer(text)
    assert caught.value.code == "invalid-pointer"


@pytest.mark.parametrize("index", ["-", "01", "2", "x", "-1"])
def test_an_index_that_is_none_means_nothing(index: str) -> None:
    pointer = f"/spec/template/spec/containers/{index}/image"
    assert ignored(deployment(), live(image="web:9"), pointer) == deployment()


_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "name", "0"]), inner, max_size=3)
    ),
    max_leaves=12,
)
_POINTERS = st.lists(
    st.lists(st.sampled_from(["a", "b", "name", "0", "1"]), max_size=4).map(
        lambda steps: "/spec" + "".join(f"/{step}" for step in steps)
    ),
    max_size=4,
)


@given(_JSON, _JSON, _POINTERS)
def test_ignoring_twice_is_ignoring_once(git: Any, cluster: Any, pointers: list[str]) -> None:
    desired, found = ({"kind": "X", "metadata": {}, "spec": spec} for spec in (git, cluster))
    once = ignored(desired, found, *pointers)
    assert ignored(desired, found, *pointers) == once
    assert {k: v for k, v in once.items() if k != "spec"} == {"kind": "X", "metadata": {}}


@given(_JSON, _POINTERS)
def test_without_drift_nothing_changes_but_what_is_nothing(spec: Any, pointers: list[str]) -> None:
    desired = {"kind": "X", "metadata": {}, "spec": {"a": 1, "rest": spec}}
    assert ignored(desired, deepcopy(desired), *pointers)["spec"]["a"] == 1
