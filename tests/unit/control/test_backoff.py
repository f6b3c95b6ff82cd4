import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kro_gitops.control.backoff import Backoff


@pytest.mark.parametrize(
    ("failures", "delay"),
    [(0, 0.2), (1, 0.2), (2, 0.4), (3, 0.8), (13, 819.2), (14, 1000.0), (10**9, 1000.0)],
)
def test_delays_double_up_to_the_cap(failures: int, delay: float) -> None:
    assert Backoff().delay(failures) == pytest.approx(delay)


def test_chance_takes_off_a_part() -> None:
    assert Backoff(first=10, spread=0.1).delay(1, jitter=1.0) == pytest.approx(9.0)
    assert Backoff(first=10, spread=0.1).delay(1, jitter=0.5) == pytest.approx(9.5)


def test_whether_delays_have_stopped_growing() -> None:
    assert not Backoff().is_capped(13)
    assert Backoff().is_capped(14)
    assert Backoff().is_capped(10**9)


@settings(max_examples=200)
@given(
    st.builds(Backoff, st.floats(0.001, 10), st.floats(10, 1e6), st.floats(0, 1)),
    st.integers(0, 10**12),
    st.floats(0, 1),
)
def test_no_delay_is_longer_than_the_cap_and_none_shrinks_with_failures(
    backoff: Backoff, failures: int, jitter: float
) -> None:
    assert 0 <= backoff.delay(failures, jitter) <= backoff.cap
    assert backoff.delay(failures) <= backoff.delay(failures + 1)
