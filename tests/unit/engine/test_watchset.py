"""Which instances does an event wake?"""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kro_gitops.engine.watchset import ObjectWatch, SelectorWatch, WatchRequest, WatchSet
from kube_objects.label_selectors import Operator, Requirement, Selector
from kube_objects.refs import Kind

CONFIG_MAP = Kind("", "v1", "ConfigMap")
SECRET = Kind("", "v1", "Secret")
ALL = Selector()
RED = Selector((Requirement("colour", Operator.IN, ("red",)),))


def obj(name: str = "a", namespace: str = "town", **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels}}


def looking(**requests: WatchRequest) -> WatchSet[str]:
    found: WatchSet[str] = WatchSet()
    for key, request in requests.items():
        found.look(key, request)
    return found


def test_one_object_wakes_who_looks_at_it() -> None:
    found = looking(x=ObjectWatch(CONFIG_MAP, "town", "a"), y=ObjectWatch(CONFIG_MAP, "town", "b"))
    assert found.watchers_of(CONFIG_MAP, None, obj("a")) == {"x"}
    assert found.watchers_of(CONFIG_MAP, obj("a", "elsewhere")) == set()
    assert found.watchers_of(SECRET, obj("a")) == set()


def test_a_cluster_scoped_object_has_no_namespace() -> None:
    found = looking(x=ObjectWatch(CONFIG_MAP, "", "a"))
    assert found.watchers_of(CONFIG_MAP, {"metadata": {"name": "a"}}) == {"x"}


def test_labels_wake_as_they_are_and_as_they_were() -> None:
    found = looking(x=SelectorWatch(CONFIG_MAP, "", RED))
    red, blue = obj(colour="red"), obj(colour="blue")
    assert found.watchers_of(CONFIG_MAP, red, blue) == {"x"}
    assert found.watchers_of(CONFIG_MAP, blue, red) == {"x"}
    assert found.watchers_of(CONFIG_MAP, red, None) == {"x"}
    assert found.watchers_of(CONFIG_MAP, blue, blue) == set()


def test_a_selection_may_be_of_one_namespace() -> None:
    found = looking(x=SelectorWatch(CONFIG_MAP, "town", ALL), y=SelectorWatch(CONFIG_MAP, "", ALL))
    assert found.watchers_of(CONFIG_MAP, obj()) == {"x", "y"}
    assert found.watchers_of(CONFIG_MAP, obj(namespace="elsewhere")) == {"y"}
    assert found.watchers_of(CONFIG_MAP, {"metadata": {"name": "a", "labels": None}}) == {"y"}


def test_what_is_new_counts_at_once_and_what_is_old_until_it_is_dropped() -> None:
    old, new = ObjectWatch(CONFIG_MAP, "town", "old"), ObjectWatch(CONFIG_MAP, "town", "new")
    found = looking(x=old)
    found.look("x", new)
    assert (
        found.watchers_of(CONFIG_MAP, obj("old"))
        == found.watchers_of(CONFIG_MAP, obj("new"))
        == {"x"}
    )
    found.keep_only("x", [new])
    assert found.watchers_of(CONFIG_MAP, obj("old")) == set()
    assert found.watchers_of(CONFIG_MAP, obj("new")) == {"x"}


def test_who_is_forgotten_is_not_woken() -> None:
    found = looking(x=ObjectWatch(CONFIG_MAP, "town", "a"), y=SelectorWatch(CONFIG_MAP, "", ALL))
    found.forget("x")
    found.forget("y")
    found.forget("nobody")
    assert found.watchers_of(CONFIG_MAP, obj("a")) == set()
    assert len(found) == 0


def test_keeping_what_was_never_looked_at_is_not_looking() -> None:
    found: WatchSet[str] = WatchSet()
    found.keep_only("x", [ObjectWatch(CONFIG_MAP, "town", "a")])
    assert found.watchers_of(CONFIG_MAP, obj("a")) == set()


keys = st.sampled_from("xyz")
requests = st.one_of(
    st.builds(
        ObjectWatch, st.just(CONFIG_MAP), st.sampled_from(["", "town"]), st.sampled_from("ab")
    ),
    st.builds(
        SelectorWatch,
        st.just(CONFIG_MAP),
        st.sampled_from(["", "town"]),
        st.sampled_from([ALL, RED]),
    ),
)
actions = st.lists(
    st.one_of(
        st.tuples(st.just("look"), keys, requests),
        st.tuples(st.just("keep"), keys, st.frozensets(requests, max_size=3)),
        st.tuples(st.just("forget"), keys, st.none()),
    ),
    max_size=30,
)


@settings(max_examples=150)
@given(actions)
def test_an_index_is_what_a_walk_would_find(done: list[tuple[str, str, Any]]) -> None:
    found: WatchSet[str] = WatchSet()
    model: dict[str, set[WatchRequest]] = {}
    for action, key, what in done:
        match action:
            case "look":
                found.look(key, what)
                model.setdefault(key, set()).add(what)
            case "keep":
                found.keep_only(key, what)
                model[key] = model.get(key, set()) & what
            case _:
                found.forget(key)
                model.pop(key, None)
    for seen in (obj("a"), obj("b", colour="red"), obj("a", "", colour="red")):
        walked = {key for key, each in model.items() if any(_sees(r, seen) for r in each)}
        assert found.watchers_of(CONFIG_MAP, seen) == walked


def _sees(request: WatchRequest, seen: dict[str, Any]) -> bool:
    if isinstance(request, SelectorWatch):
        return request.matches(seen)
    metadata = seen["metadata"]
    return (request.namespace, request.name) == (metadata["namespace"], metadata["name"])
