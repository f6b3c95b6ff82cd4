"""Conditions that authors define."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kro_gitops.engine.conditions import (
    Evaluated,
    ReadyCondition,
    evaluate_in_slices,
    is_ready_computed,
    parse_ready_conditions,
    published_ready,
    with_ready,
    with_timestamps,
)
from kro_gitops.engine.plan.evaluation import Bounds, Evaluator
from kro_gitops.engine.plan.slices import finish
from kro_gitops.engine.status import ALL_READY, IS_MANAGED, IS_RESOLVED, conditions_of, not_ready
from kro_gitops.metadata import READY_CONDITIONS, SOURCE
from kro_gitops.settings.option import AuthorReady
from kube_objects.conditions import FALSE, READY, TRUE, UNKNOWN, Condition, ConditionSet
from tests.builders import config_map, definition, graph, instance, resource

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BEFORE = NOW - timedelta(hours=1)


def new(type_: str, status: str = "'True'", **more: str) -> str:
    fields = {"type": f"'{type_}'", "status": status, **more}
    written = ", ".join(f"{key}: {value}" for key, value in fields.items())
    return "${runtime.newCondition({" + written + "})}"


def evaluated(*expressions: str, builtins: tuple[Any, ...] = (), **values: Any) -> Evaluated:
    made = graph(definition(resource("cm"), status={"conditions": list(expressions)}))
    known = {"schema": {**instance(), "status": {"state": "ACTIVE"}}, **values}
    return finish(evaluate_in_slices(made.conditions, known, builtins, Evaluator(Bounds())))


def types(conditions: Any) -> list[str]:
    return [each.type for each in conditions]


# Evaluating


def test_conditions_come_in_the_order_they_were_written() -> None:
    found = evaluated(new("Web", reason="'Up'", message="'all good'"), new("Db", "'False'"))
    assert found.conditions == (
        Condition("Web", TRUE, "Up", "all good"),
        Condition("Db", FALSE),
    )
    assert found.is_whole


def test_an_expression_may_yield_several() -> None:
    text = "${[runtime.newCondition({type: 'A', status: 'True'})," + (
        "runtime.newCondition({type: 'B', status: 'Unknown'})]}"
    )
    assert types(evaluated(text).conditions) == ["A", "B"]


def test_what_lacks_data_is_left_open() -> None:
    found = evaluated(new("A"), new("B", "cm.data.x == '1' ? 'True' : 'False'"))
    assert types(found.conditions) == ["A"]
    assert not found.is_whole
    assert found.faults == ()


def test_a_mistake_is_a_fault() -> None:
    text = "int(cm.data.x) > 1 ? 'True' : 'False'"
    found = evaluated(new("A"), new("B", text), cm=config_map("cm", x="many"))
    assert types(found.conditions) == ["A"]
    assert not found.is_whole
    assert len(found.faults) == 1
    assert "type conversion error" in found.faults[0]


def test_types_that_occur_twice_are_dropped_altogether() -> None:
    both = "${cm.data.names.split(',').map(n, runtime.newCondition({type: n, status: 'True'}))}"
    found = evaluated(both, cm=config_map("cm", names="A,B,A"))
    assert types(found.conditions) == ["B"]
    assert found.faults == ("duplicate condition type(s) [A] dropped",)
    assert not found.is_whole


def test_kros_own_conditions_can_be_read() -> None:
    text = "runtime.condition(schema, 'Ready').status"
    own = ({"type": "Ready", "status": "False", "reason": "NotReady", "message": "m"},)
    found = evaluated(new("Serving", text), builtins=own)
    assert found.conditions == (Condition("Serving", FALSE),)


# Dating


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    former = (Condition("A", TRUE, "Old", "old", BEFORE, 1), Condition("B", TRUE, changed=BEFORE))
    now = Evaluated((Condition("A", TRUE, "New"), Condition("B", FALSE), Condition("C", TRUE)))
    found = with_timestamps(now, former, 7, NOW)
    assert [each.changed for each in found] == [BEFORE, NOW, NOW]
    assert {each.observed_generation for each in found} == {7}
    assert found[0].reason == "New"


def test_what_could_not_be_evaluated_keeps_what_it_said() -> None:
    former = (Condition("A", TRUE, changed=BEFORE), Condition("B", FALSE, "R", "m", BEFORE, 3))
    found = with_timestamps(Evaluated((Condition("A", FALSE),), is_whole=False), former, 7, NOW)
    assert types(found) == ["A", "B"]
    assert found[1] is former[1]


def test_a_whole_evaluation_replaces_the_list() -> None:
    former = (Condition("Gone", TRUE, changed=BEFORE),)
    assert types(with_timestamps(Evaluated((Condition("A", TRUE),)), former, 1, NOW)) == ["A"]


# Counting for Ready


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("", ()),
        (" , ,", ()),
        ("Web", (ReadyCondition("Web"),)),
        (" Web , !Degraded ", (ReadyCondition("Web"), ReadyCondition("Degraded", True))),
        ("! Degraded", (ReadyCondition("Degraded", True),)),
        ("!", ()),
    ],
)
def test_the_annotation_names_what_counts(text: str, counted: tuple[ReadyCondition, ...]) -> None:
    assert parse_ready_conditions(text) == counted


def own(condition: Condition = ALL_READY) -> ConditionSet:
    found = conditions_of(instance(generation=4), NOW)
    for each in (IS_MANAGED, IS_RESOLVED, condition):
        found.set(each, NOW)
    return found


def ready(
    *authored: Condition, counted: str, builtins: ConditionSet | None = None
) -> tuple[Condition, ...]:
    return with_ready(authored, parse_ready_conditions(counted), builtins or own(), None, NOW)


def test_all_that_counts_makes_ready() -> None:
    found = ready(Condition("Web", TRUE), Condition("Degraded", FALSE), counted="Web, !Degraded")
    assert types(found) == ["Web", "Degraded", READY]
    assert (found[-1].status, found[-1].reason, found[-1].message) == (TRUE, READY, "")
    assert found[-1].observed_generation == 4


@pytest.mark.parametrize(
    ("authored", "status", "message"),
    [
        (Condition("Web", FALSE, "Down", "no pods"), FALSE, "Web: no pods"),
        (Condition("Web", UNKNOWN, "Starting"), UNKNOWN, "Web: Starting"),
        (Condition("Degraded", TRUE), FALSE, "Degraded: Degraded"),
        (Condition("Degraded", UNKNOWN), UNKNOWN, "Degraded: Degraded"),
    ],
)
def test_what_counts_and_is_bad_makes_not_ready(
    authored: Condition, status: str, message: str
) -> None:
    others = [Condition("Web", TRUE), Condition("Degraded", FALSE)]
    kept = [each for each in others if each.type != authored.type]
    found = ready(*kept, authored, counted="Web,!Degraded")[-1]
    assert (found.status, found.message) == (status, message)


def test_what_is_false_outweighs_what_is_unknown() -> None:
    found = ready(Condition("A", UNKNOWN), Condition("B", FALSE), counted="A,B")[-1]
    assert (found.status, found.message) == (FALSE, "B: B")


def test_what_is_not_reported_yet_is_unknown() -> None:
    found = ready(counted="Web")[-1]
    assert (found.status, found.reason) == (UNKNOWN, "ConditionMissing")


def test_kros_own_trouble_comes_first() -> None:
    builtins = own(not_ready("waiting"))
    found = ready(Condition("Web", TRUE), counted="Web", builtins=builtins)[-1]
    assert (found.status, found.reason) == (FALSE, "NotReady")


def test_an_authors_own_ready_is_replaced() -> None:
    found = ready(Condition(READY, TRUE), Condition("Web", FALSE), counted="Web")
    assert types(found) == ["Web", READY]
    assert found[-1].status == FALSE


def test_ready_keeps_its_time_while_its_status_stays() -> None:
    former = Condition(READY, TRUE, changed=BEFORE)
    found = with_ready((Condition("Web", TRUE),), (ReadyCondition("Web"),), own(), former, NOW)
    assert found[-1].changed == BEFORE


def test_a_fault_makes_not_ready_as_the_state_is_an_error() -> None:
    found = with_ready((), (), own(), None, NOW, ("'1 / 0': division by zero",))[-1]
    assert (found.status, found.reason) == (FALSE, "ConditionExpressionFailed")
    assert found.message == "'1 / 0': division by zero"


# Whether Ready is published


FROM_GIT = {SOURCE: "shop/repo"}


@pytest.mark.parametrize(
    ("annotations", "setting", "counted"),
    [
        ({}, AuthorReady.SOURCE, None),
        (FROM_GIT, AuthorReady.SOURCE, ()),
        (FROM_GIT, AuthorReady.NEVER, None),
        ({}, AuthorReady.ALWAYS, ()),
        ({READY_CONDITIONS: "Web"}, AuthorReady.NEVER, (ReadyCondition("Web"),)),
        ({**FROM_GIT, READY_CONDITIONS: "Web"}, AuthorReady.SOURCE, (ReadyCondition("Web"),)),
        ({**FROM_GIT, READY_CONDITIONS: ""}, AuthorReady.ALWAYS, None),
    ],
)
def test_the_annotation_decides_then_the_setting_and_the_origin(
    annotations: dict[str, str], setting: AuthorReady, counted: tuple[ReadyCondition, ...] | None
) -> None:
    assert published_ready(annotations, setting) == counted


READS_READY = new("Web", "runtime.condition(schema, 'Ready').status")
CHOOSES_READY = "${runtime.newCondition({type: true ? 'Ready' : 'Web', status: 'True'})}"


@pytest.mark.parametrize(
    ("expression", "is_computed"),
    [
        (new("Web"), True),
        (READS_READY, True),
        (new("ReadyToServe"), True),
        (new("Ready"), False),
        (CHOOSES_READY, False),
    ],
)
def test_an_authors_own_ready_is_known_before_it_is_evaluated(
    expression: str, is_computed: bool
) -> None:
    made = graph(definition(resource("cm"), status={"conditions": [expression]}))
    assert is_ready_computed((), made.conditions, None) is is_computed
    pending = Evaluated((), is_whole=False)
    assert is_ready_computed((), made.conditions, pending) is is_computed
    assert is_ready_computed((ReadyCondition("Web"),), made.conditions, None)
    assert not is_ready_computed(None, made.conditions, None)


def test_what_was_evaluated_decides_whether_the_author_defines_ready() -> None:
    made = graph(definition(resource("cm"), status={"conditions": [CHOOSES_READY]}))
    assert is_ready_computed((), made.conditions, Evaluated((Condition("Web", TRUE),)))
    assert not is_ready_computed((), made.conditions, Evaluated((Condition(READY, TRUE),)))
