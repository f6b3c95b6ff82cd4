from datetime import UTC, datetime
from typing import Any

from kro_gitops.source.plan.result import Fault, Phase, SyncResult
from kro_gitops.source.plan.status import (
    MOST_HISTORY,
    MOST_LISTED,
    Report,
    Run,
    describe_failures,
    ready_condition,
    with_run,
)
from kube_objects.problems import Origin

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = datetime(2026, 3, 1, 13, tzinfo=UTC)


def failure(message: str = "it is wrong", *, lasting: bool = False, line: int = 3) -> Fault:
    origin = Origin("apps/front.yaml", line, 5)
    return Fault("invalid", message, "Shop a/front", origin, is_lasting=lasting)


def ready(status: dict[str, Any]) -> dict[str, Any]:
    [found] = [each for each in status["conditions"] if each["type"] == "Ready"]
    return dict(found)


def report(result: SyncResult | None = None) -> Report:
    made = Report(2, Phase.HEALTHY, result=result)
    made.set_condition("Ready", "True", "Succeeded", "applied")
    return made


def test_the_same_said_again_is_the_same_status() -> None:
    first = report(SyncResult(objects=3)).written({}, NOW)
    assert report(SyncResult(objects=3)).written(first, LATER) == first


def test_a_condition_is_as_old_as_its_status() -> None:
    first = report().written({}, NOW)
    made = report()
    made.set_condition("Ready", "True", "Other", "in other words")
    again = ready(made.written(first, LATER))
    assert (again["lastTransitionTime"], again["reason"]) == ("2026-03-01T12:00:00Z", "Other")
    made.set_condition("Ready", "False", "Failed", "")
    assert ready(made.written(first, LATER))["lastTransitionTime"] == "2026-03-01T13:00:00Z"


def test_what_is_not_said_again_is_taken_back() -> None:
    made = report()
    made.set_condition("Stalled", "True", "Stalled", "x")
    first = made.written({}, NOW)
    assert [each["type"] for each in first["conditions"]] == ["Ready", "Stalled"]
    assert [each["type"] for each in report().written(first, NOW)["conditions"]] == ["Ready"]


def test_without_a_new_result_what_was_said_of_objects_stays() -> None:
    first = report(SyncResult(objects=3, failures=(failure(),))).written({}, NOW)
    again = report().written(first, LATER)
    assert again["inventory"] == first["inventory"]
    assert again["failures"] == first["failures"]


def test_failures_name_their_place_and_are_not_endless() -> None:
    many = [failure(line=line) for line in range(1, MOST_LISTED + 6)]
    status = report(SyncResult(failures=tuple(many))).written({}, NOW)
    assert len(status["failures"]) == MOST_LISTED
    assert status["failuresOmitted"] == 5
    assert status["failures"][0] == {
        "code": "invalid",
        "message": "it is wrong",
        "object": "Shop a/front",
        "file": "apps/front.yaml",
        "line": 1,
        "column": 5,
    }
    assert (
        len(
            report(SyncResult(failures=(failure("x" * 9000),))).written({}, NOW)["failures"][0][
                "message"
            ]
        )
        <= 2000
    )


def test_ready_is_the_worst_there_is() -> None:
    assert ready_condition(SyncResult(), "r")[:2] == ("True", "Succeeded")
    assert ready_condition(SyncResult(waiting=("a",)), "r")[:2] == ("Unknown", "Progressing")
    assert ready_condition(SyncResult(pending=2), "r")[:2] == ("Unknown", "Progressing")
    assert ready_condition(SyncResult(waiting=("a",), degraded=("b",)), "r")[:2] == (
        "False",
        "Degraded",
    )
    assert ready_condition(SyncResult(braked="stop", degraded=("b",)), "r")[:2] == (
        "False",
        "PruneBlocked",
    )
    assert ready_condition(SyncResult(braked="s", failures=(failure(),)), "r")[:2] == (
        "False",
        "ApplyFailed",
    )
    lasting = SyncResult(failures=(failure(lasting=True),))
    assert ready_condition(lasting, "r")[:2] == ("False", "InvalidManifests")


def test_a_few_failures_are_told_and_the_others_counted() -> None:
    assert describe_failures([failure()]) == "apps/front.yaml:3:5: Shop a/front: it is wrong"
    assert describe_failures([failure()] * 5).endswith("; and 2 more")


def test_a_run_replaces_what_was_said_of_it_and_old_ones_go() -> None:
    run = Run("main@sha1:a", "2026-03-01T12:00:00Z", "Ada", "first")
    history = with_run([], run)
    finished = Run("main@sha1:a", "2026-03-01T12:00:00Z", "Ada", "first", result="Healthy")
    assert [each.get("result") for each in with_run(history, finished)] == ["Healthy"]
    for number in range(20):
        history = with_run(history, Run(f"r{number}", f"t{number}"))
    assert len(history) == MOST_HISTORY
    assert history[0]["revision"] == "r19"


def test_the_last_healthy_runs_stay_listed_however_many_failed_since() -> None:
    history = with_run([], Run("good1", "t", result="Healthy"))
    history = with_run(history, Run("good2", "t", result="Healthy"))
    for number in range(30):
        history = with_run(history, Run(f"bad{number}", f"t{number}", result="Failed"))
    assert len(history) == MOST_HISTORY
    assert [each["revision"] for each in history[-3:]] == ["bad22", "good2", "good1"]
