from dataclasses import replace

import pytest

from kro_gitops.control.backoff import Backoff
from kro_gitops.control.outcome import (
    DONE,
    REQUEUE,
    RULES,
    Level,
    Outcome,
    Result,
    RetryDelays,
    of_error,
    of_result,
)
from kro_gitops.errors import ClusterUnavailable, DataPending, NotYet, Unavailable
from kube_cel.errors import ExpressionError
from kube_objects.errors import RefusedError

PACE = RetryDelays(later=3.0, backoff=Backoff(first=1.0, cap=8.0, spread=0.5))


def user_error() -> RefusedError:
    return RefusedError("some-code", "not like this")


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        pytest.param(DONE, Outcome(None, forgets_failures=True), id="done"),
        pytest.param(REQUEUE, Outcome(0.0), id="again"),
        pytest.param(Result(after=7), Outcome(7), id="after a while; failures still count"),
    ],
)
def test_what_follows_from_a_result(result: Result, outcome: Outcome) -> None:
    assert of_result(result) == outcome


AUTHORS = Outcome(None, forgets_failures=True, level=Level.WARNING, event=True, once=True)
WAITS = Outcome(3.0, level=Level.INFO)
FAILED = Outcome(2.0, is_failure=True, level=Level.WARNING)
LASTS = Outcome(8.0, is_failure=True, level=Level.ERROR, event=True)
OUTAGE, LONG_OUTAGE = replace(FAILED, is_outage=True), replace(LASTS, is_outage=True)
BUG = Outcome(2.0, is_failure=True, level=Level.ERROR, event=True, traceback=True)


@pytest.mark.parametrize(
    ("error", "failures", "outcome"),
    [
        pytest.param(user_error(), 2, AUTHORS, id="the author's mistake"),
        pytest.param(ExpressionError("c", "m"), 9, AUTHORS, id="a leaf of that branch"),
        pytest.param(NotYet("c", "m"), 2, WAITS, id="not yet"),
        pytest.param(DataPending("c", "m"), 2, WAITS, id="data pending"),
        pytest.param(Unavailable("c", "m"), 2, FAILED, id="the world failed"),
        pytest.param(ClusterUnavailable("c", "m"), 2, OUTAGE, id="the cluster failed"),
        pytest.param(ClusterUnavailable("c", "m"), 4, LONG_OUTAGE, id="the cluster stays away"),
        pytest.param(TimeoutError(), 2, OUTAGE, id="a time-out"),
        pytest.param(ConnectionResetError(), 9, LONG_OUTAGE, id="a broken connection"),
        pytest.param(KeyError("x"), 2, BUG, id="a bug"),
    ],
)
def test_the_branch_of_an_error_decides(error: Exception, failures: int, outcome: Outcome) -> None:
    assert of_error(error, failures, PACE, jitter=0) == outcome


def test_chance_shortens_a_backoff() -> None:
    assert of_error(KeyError(), 1, PACE, jitter=1.0).after == 0.5


def test_not_yet_without_a_delay_waits_for_a_watch() -> None:
    pace = RetryDelays(later=0)
    assert of_error(NotYet("c", "m"), 1, pace, jitter=0).after is None


@pytest.mark.parametrize("failures", [1, 20, 21, 10**6])
def test_nobody_gives_up(failures: int) -> None:
    assert of_error(Unavailable("c", "m"), failures, PACE, 0).after is not None


@pytest.mark.parametrize(
    ("errors", "outcome"),
    [
        pytest.param([user_error(), user_error()], AUTHORS, id="two of a kind"),
        pytest.param(
            [user_error(), Unavailable("c", "m")],
            Outcome(2.0, is_failure=True, level=Level.WARNING, event=True),
            id="the author's and the world's: tried again",
        ),
        pytest.param(
            [NotYet("c", "m"), KeyError(), user_error()],
            Outcome(2.0, is_failure=True, level=Level.ERROR, event=True, traceback=True),
            id="as loud as the worst, as soon as the soonest",
        ),
        pytest.param(
            [ExceptionGroup("inner", [NotYet("c", "m")])], WAITS, id="groups within groups"
        ),
    ],
)
def test_several_errors_at_once_get_their_due(errors: list[Exception], outcome: Outcome) -> None:
    assert of_error(ExceptionGroup("several", errors), 2, PACE, 0) == outcome


def test_the_last_row_fits_everything() -> None:
    assert RULES[-1].branch is BaseException
