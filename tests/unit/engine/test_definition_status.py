"""What a definition reports."""

from datetime import UTC, datetime
from typing import Any

from kro_gitops.engine import definition_status as reported
from kube_objects.conditions import ConditionSet
from tests.builders import config_map, definition, graph, resource

NOW = datetime(2026, 1, 1, tzinfo=UTC)
GOOD = (
    reported.resolved(1),
    reported.IS_ACCEPTED,
    reported.kind_ready("Kiosk"),
    reported.IS_RUNNING,
)


def conditions(*said: Any, generation: int = 1, stored: Any = None) -> ConditionSet:
    obj = {"metadata": {"name": "kiosk", "generation": generation}, "status": stored or {}}
    found = ConditionSet.of(reported.TYPES, obj, NOW)
    for each in said:
        found.set(each, NOW)
    return found


def status(found: ConditionSet, last: int = 1, former: Any = None) -> dict[str, Any]:
    return reported.definition_status(found, None, last, former or {})


def test_all_is_well_in_kros_words() -> None:
    found = status(conditions(*GOOD))
    assert found["state"] == "Active"
    said = {
        each["type"]: (each["status"], each["reason"], each["message"])
        for each in found["conditions"]
    }
    assert said == {
        "GraphRevisionsResolved": ("True", "Resolved", "revision 1 compiled and active"),
        "GraphAccepted": ("True", "Valid", "resource graph and schema are valid"),
        "KindReady": ("True", "Ready", "kind Kiosk has been accepted and ready"),
        "ControllerReady": ("True", "Running", "controller is running"),
        "Ready": ("True", "Ready", ""),
    }


def test_a_definition_nobody_looked_at_is_inactive() -> None:
    assert status(conditions())["state"] == "Inactive"


def test_a_wrong_spec_makes_it_inactive_but_says_so() -> None:
    found = conditions(*GOOD, reported.not_accepted("no such field"))
    assert status(found)["state"] == "Inactive"
    assert found.root.message == "no such field"


def test_old_news_still_makes_it_active() -> None:
    stored = status(conditions(*GOOD))
    found = conditions(reported.IS_ACCEPTED, generation=2, stored=stored)
    assert status(found)["state"] == "Active"


def test_numbers_are_never_taken_back() -> None:
    assert status(conditions(), 3, {"lastIssuedRevision": 7})["lastIssuedRevision"] == 7
    assert status(conditions(), 8, {"lastIssuedRevision": 7})["lastIssuedRevision"] == 8
    assert "lastIssuedRevision" not in status(conditions(), 0)


def test_a_former_condition_of_kro_is_dropped() -> None:
    stored = {"conditions": [{"type": "ResourceGraphAccepted", "status": "True"}]}
    types = [each["type"] for each in status(conditions(stored=stored))["conditions"]]
    assert "ResourceGraphAccepted" not in types


def test_the_shape_lists_only_nodes_that_need_others() -> None:
    made = graph(
        definition(
            resource("b", config_map("b", x="${a.metadata.name}")), resource("a", config_map("a"))
        )
    )
    assert reported.topology_status(made) == {
        "topologicalOrder": ["a", "b"],
        "resources": [{"id": "b", "dependencies": [{"id": "a"}]}],
    }
    assert reported.topology_status(graph(definition())) == {}
    assert reported.topology_status(None) == {}


def test_a_revision_that_does_not_compile_says_which() -> None:
    found = reported.not_verified("kiosk-r00002", "no such field")
    assert found.message == 'failed to compile graph revision "kiosk-r00002": no such field'
    assert reported.revision_failed(2).message == "latest graph revision 2 failed compilation"
