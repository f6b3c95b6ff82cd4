"""How fast, and when again."""

import pytest

from kro_gitops.errors import ClusterUnavailable
from kro_gitops.kube import requests
from kro_gitops.kube.ratelimit import ClientLimits, TokenBucket, backoff_delay, retry_delay
from kro_gitops.kube.requests import Request
from kro_gitops.kube.responses import ApiError, error_of

READ = requests.read("/thing")
WRITE = Request("create", "things", "POST", "/thing")
NO_ANSWER = ClusterUnavailable("cluster-unavailable", "no answer")


def answer(code: int, retry_after: str | None = None) -> ClusterUnavailable:
    error: ApiError = error_of(code, b"", retry_after)
    assert isinstance(error, ClusterUnavailable)
    return error


def test_delays_grow_to_a_cap_and_never_past_it() -> None:
    delays = [backoff_delay(attempt, 1.0) for attempt in range(10_000)]
    assert delays[:4] == [0.25, 0.5, 1.0, 2.0]
    assert delays == sorted(delays)
    assert delays[-1] == 30.0


def test_chance_takes_away_at_most_half() -> None:
    assert backoff_delay(3, 0.0) == backoff_delay(3, 1.0) / 2


@pytest.mark.parametrize(
    ("request_", "error", "wait"),
    [
        pytest.param(READ, NO_ANSWER, 0.25, id="a read without an answer"),
        pytest.param(WRITE, NO_ANSWER, None, id="a write may have been carried out"),
        pytest.param(READ, answer(503), 0.25, id="a read turned away"),
        pytest.param(WRITE, answer(503), None, id="a write turned away, perhaps half done"),
        pytest.param(WRITE, answer(429), 0.25, id="a write turned away at the door"),
        pytest.param(READ, answer(429, "2"), 2.25, id="what was asked for, and chance"),
        pytest.param(READ, answer(429, "11"), None, id="longer than we wait"),
        pytest.param(READ, answer(500), None, id="a mistake would be repeated"),
        pytest.param(READ, answer(500, "1"), 1.25, id="a mistake, but one that passes"),
    ],
)
def test_what_is_repeated(request_: Request, error: ClusterUnavailable, wait: float | None) -> None:
    assert retry_delay(request_, error, 0, ClientLimits(), 1.0) == wait


def test_repeating_ends() -> None:
    limits = ClientLimits(attempts=3)
    waits = [retry_delay(READ, NO_ANSWER, each, limits, 1.0) for each in range(3)]
    assert waits == [0.25, 0.5, None]


def test_a_bucket_lets_a_burst_through_and_then_so_many_a_second() -> None:
    bucket = TokenBucket(per_second=10, burst=3)
    assert [round(bucket.reserve(100.0), 3) for _ in range(5)] == [0, 0, 0, 0.1, 0.2]
    assert round(bucket.reserve(100.5), 3) == 0
    assert [round(bucket.reserve(200.0), 3) for _ in range(4)] == [0, 0, 0, 0.1]
