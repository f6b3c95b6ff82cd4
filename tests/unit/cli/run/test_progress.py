from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from kro_gitops.cli.run.progress import (
    SETTLE_TIME,
    ClusterState,
    Item,
    State,
    changes,
    compact_rows,
    object_item,
    outcome,
    reasons,
    rows,
    source_item,
    summary,
    without_prefixes,
)
from kro_gitops.cli.tables import UNICODE, Row, flatten
from kro_gitops.inspect.views.instances import Absent, Branch
from kro_gitops.inspect.views.source_progress import Goal
from kro_gitops.inspect.views.sources import ListedFailure
from kro_gitops.source.api.resources import GIT_SOURCE_KIND
from kro_gitops.tracking.health import Health, HealthStatus, health
from kube_objects.refs import Kind, KubeObject, ObjectRef

NOW = datetime(2026, 3, 1, tzinfo=UTC)
WEBAPP = Kind("kro.run", "v1alpha1", "WebApp")
DEPLOYMENT = Kind("apps", "v1", "Deployment")


def condition(type_: str, status: str, message: str = "") -> dict[str, Any]:
    return {
        "type": type_,
        "status": status,
        "reason": "Because",
        "message": message,
        "observedGeneration": 1,
    }


def made(kind: Kind, name: str, *conditions: dict[str, Any], **status: Any) -> KubeObject:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name, "namespace": "shop", "generation": 1, "annotations": {}},
        "status": {"conditions": list(conditions), **status},
    }


def item(name: str, state: State, message: str = "", **more: Any) -> Item:
    return Item(ObjectRef(WEBAPP, "shop", name), state, message, **more)


READY = item("front", State.READY)
WAITING = item("back", State.WAITING, "no Pod runs")
FAILED = item("side", State.FAILED, "refused", place="apps/side.yaml:3:1", hint="correct it")
SUSPENDED = item("old", State.SUSPENDED)


@pytest.mark.parametrize(
    ("items", "still", "expected"),
    [
        pytest.param((), 0.0, True, id="nothing is there"),
        pytest.param((READY, SUSPENDED), 0.0, True, id="all ready or at rest"),
        pytest.param((READY, WAITING), 100.0, None, id="one is waiting"),
        pytest.param((FAILED, WAITING), 100.0, None, id="one failed and one is waiting"),
        pytest.param((READY, FAILED), SETTLE_TIME - 1, None, id="it may be tried again"),
        pytest.param((READY, FAILED), SETTLE_TIME, False, id="it stays as it is"),
    ],
)
def test_it_is_over_when_nothing_can_change(
    items: tuple[Item, ...], still: float, expected: bool | None
) -> None:
    assert outcome(ClusterState(instances=items), still) is expected


def test_a_reason_is_complete_unless_a_terminal_shows_it() -> None:
    text = "resource reconciliation failed: first line\n" + "word " * 100 + "end"
    state = ClusterState(instances=(item("front", State.FAILED, text, details=(text,)),))
    for said in (reasons(state), list(changes(ClusterState(), state))):
        assert said[0].endswith("word end")
    assert reasons(state)[1].endswith("word end")
    short = [*reasons(state, is_short=True), *changes(ClusterState(), state, is_short=True)]
    assert short == [
        "WebApp shop/front: first line …",
        "  resource reconciliation failed: first line …",
        "WebApp shop/front: failed: first line …",
    ]


def test_reasons_name_place_object_and_what_to_do() -> None:
    picture = ClusterState(instances=(READY, WAITING, FAILED))
    assert reasons(picture) == [
        "WebApp shop/back: no Pod runs",
        "apps/side.yaml:3:1: WebApp shop/side: refused",
        "  hint: correct it",
    ]


def test_a_definition_that_failed_can_be_looked_at_closer() -> None:
    assert reasons(ClusterState(definitions=(FAILED,)))[-1] == (
        "hint: `kro-gitops validate FOLDER` shows every error with its line"
    )


def test_changes_are_told_once() -> None:
    before = ClusterState(instances=(READY, item("back", State.WAITING, "not picked up yet")))
    after = ClusterState(instances=(READY, WAITING, FAILED))
    assert list(changes(before, after)) == [
        "WebApp shop/back: waiting: no Pod runs",
        "WebApp shop/side: failed: refused",
    ]
    assert list(changes(after, after)) == []


def test_what_all_messages_have_in_common_is_left_out() -> None:
    said = "resource reconciliation failed: apply results contain errors: waiting for a Secret"
    assert without_prefixes(said) == "waiting for a Secret"


SOURCE_READY = made(GIT_SOURCE_KIND, "repo", condition("Ready", "True"), observedGeneration=1)


def test_a_source_is_ready_when_it_answered_what_was_asked() -> None:
    assert source_item(SOURCE_READY, Goal(generation=1)).state is State.READY
    assert source_item(SOURCE_READY, Goal(request="now")).state is State.WAITING


def test_failures_of_what_is_told_anyway_are_not_told_twice() -> None:
    listed = [
        {"object": "WebApp shop/front", "file": "a.yaml", "line": 3, "message": "no"},
        {"file": "b.yaml", "line": 1, "column": 4, "message": "a value is expected"},
    ]
    source = made(
        GIT_SOURCE_KIND,
        "repo",
        condition("Ready", "False", "a.yaml:3: no; b.yaml: a value"),
        observedGeneration=1,
        failures=listed,
    )
    found = source_item(source, Goal(), {"WebApp shop/front"})
    assert (found.state, found.message) == (State.FAILED, "is not ready")
    assert found.details == ("b.yaml:1:4: a value is expected",)
    assert found.hint.startswith("correct the files in git")


def test_a_suspended_source_is_at_rest() -> None:
    source = {**SOURCE_READY, "spec": {"suspend": True}}
    assert source_item(source, Goal()).state is State.SUSPENDED


def branch(name: str, word: Health, *inner: Branch, message: str = "") -> Branch:
    obj = made(WEBAPP if inner else DEPLOYMENT, name)
    return Branch(obj, "", HealthStatus(word, message), tuple(inner))


def test_an_instance_tells_which_of_its_children_is_in_the_way() -> None:
    waiting = made(WEBAPP, "front", condition("Ready", "False", "waiting for node"))
    child = branch("front", Health.PROGRESSING, message="0 of 3 replicas available")
    tree = Branch(waiting, "", health(waiting), (child,))
    found = object_item(waiting, {}, tree)
    assert found.state is State.WAITING
    assert found.details == ("Deployment shop/front: 0 of 3 replicas available",)


def test_the_place_of_a_failure_is_better_than_the_file() -> None:
    obj = made(WEBAPP, "front", condition("Ready", "False", "no"))
    obj["metadata"]["annotations"] = {"gitops.kro.run/path": "apps/front.yaml"}
    assert object_item(obj, {}).place == "apps/front.yaml"
    failure = ListedFailure("WebApp shop/front", "apps/front.yaml", 7, 3, "not-in-enum", "no")
    found = object_item(obj, {"WebApp shop/front": [failure, replace(failure, line=9)]})
    assert (found.place, found.error_code) == ("apps/front.yaml:7:3", "not-in-enum")
    assert found.details == ("apps/front.yaml:9:3: error[not-in-enum]: WebApp shop/front: no",)


FINE = branch("fine", Health.HEALTHY, branch("a", Health.HEALTHY), branch("b", Health.HEALTHY))
BAD = Branch(
    made(WEBAPP, "bad"),
    "",
    HealthStatus(Health.PROGRESSING, "waiting"),
    (branch("good", Health.HEALTHY), branch("worse", Health.DEGRADED, message="no image")),
    (Absent("later", "Service", "not created yet"),),
)


def shown(found: list[Row]) -> list[tuple[str, str]]:
    return [(line.cells[0], line.cells[3]) for line in flatten(found, UNICODE)]


def test_healthy_instances_are_folded_with_a_count() -> None:
    state = ClusterState(loose=(FINE, BAD))
    assert len(shown(rows(state, NOW))) == 7
    assert shown(compact_rows(state, NOW)) == [
        ("WebApp/fine in shop", "2 children"),
        ("WebApp/bad in shop", "waiting"),
        ("├── Deployment/good", ""),
        ("├── Deployment/worse", "no image"),
        ("└── later: Service", "not created yet"),
    ]
    assert shown(compact_rows(state, NOW, only_trouble=True)) == [
        ("WebApp/bad in shop", "waiting"),
        ("└── Deployment/worse", "no image"),
    ]


def test_rows_that_differ_in_their_name_only_are_grouped() -> None:
    failing = [branch(name, Health.DEGRADED, message="no image") for name in "abc"]
    waiting = branch("d", Health.PROGRESSING, message="0 of 1")
    parent = Branch(
        made(WEBAPP, "bad"), "", HealthStatus(Health.DEGRADED, "no"), (*failing, waiting)
    )
    state = ClusterState(loose=(FINE, FINE, parent, FINE))
    assert shown(compact_rows(state, NOW)) == [
        ("3 × WebApp in shop", "6 children"),
        ("WebApp/bad in shop", "no"),
        ("├── 3 × Deployment", "no image"),
        ("└── Deployment/d", "0 of 1"),
    ]


def test_a_group_names_the_namespace_that_all_have_in_common() -> None:
    def labels(*namespaces: str) -> list[str]:
        found = []
        for namespace in namespaces:
            obj = made(DEPLOYMENT, "x")
            obj["metadata"]["namespace"] = namespace
            found.append(Branch(obj, "", HealthStatus(Health.HEALTHY, "")))
        return [row.cells[0] for row in compact_rows(ClusterState(loose=tuple(found)), NOW)]

    assert labels("shop", "shop") == ["2 × Deployment in shop"]
    assert labels("shop", "data") == ["2 × Deployment"]
    assert labels("", "") == ["2 × Deployment"]


def test_a_group_has_the_age_of_its_newest_object() -> None:
    group = []
    for minute in (1, 3, 2):
        obj = made(DEPLOYMENT, f"d{minute}")
        obj["metadata"]["creationTimestamp"] = f"2026-02-28T23:5{minute}:00Z"
        group.append(Branch(obj, "", HealthStatus(Health.HEALTHY, "")))
    (row,) = compact_rows(ClusterState(loose=tuple(group)), NOW)
    assert row.cells[2] == "7m"


def test_counts_say_how_many_of_how_many() -> None:
    picture = ClusterState(instances=(READY, WAITING, SUSPENDED), loose=(FINE, BAD))
    assert summary(picture) == "0 sources · 0 definitions · 2/3 instances · 4 children"
