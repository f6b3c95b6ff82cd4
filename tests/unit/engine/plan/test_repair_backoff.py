"""When a child that other clients keep changing is applied again."""

from kro_gitops.engine.plan.repair_backoff import (
    FREE_APPLIES,
    MAX_PAUSE,
    ApplyHistory,
    after_apply,
    contested_text,
    seconds_to_wait,
)


def pauses(count: int) -> list[float]:
    """Return the waits of a child that is changed right after each apply."""
    history, now, found = None, 0.0, []
    for _ in range(count):
        wait = seconds_to_wait(history, "a", now)
        now += wait
        found.append(wait)
        history = after_apply(history, "a", now, "rival")
    return found


def test_the_first_applies_have_no_pause_and_later_pauses_double_up_to_a_limit() -> None:
    found = pauses(20)
    assert found[: FREE_APPLIES + 4] == [0.0] * FREE_APPLIES + [0.0, 1.0, 2.0, 4.0]
    assert found[-1] == MAX_PAUSE
    assert sum(each == MAX_PAUSE for each in found) > 1  # the limit is no reason to start again


def test_new_content_is_applied_at_once_and_starts_from_the_beginning() -> None:
    history = ApplyHistory("a", 100.0, 50, "rival")
    assert seconds_to_wait(history, "a", 100.0) == MAX_PAUSE
    assert seconds_to_wait(history, "b", 100.0) == 0
    assert after_apply(history, "b", 100.0) == ApplyHistory("b", 100.0)


def test_a_child_that_was_left_alone_starts_from_the_beginning() -> None:
    history = ApplyHistory("a", 100.0, 8)
    assert after_apply(history, "a", 159.0).count == 9
    assert after_apply(history, "a", 160.0).count == 1


def test_a_change_every_other_minute_is_never_delayed() -> None:
    history = None
    for minute in range(100):
        now = 120.0 * minute
        assert seconds_to_wait(history, "a", now) == 0
        history = after_apply(history, "a", now)
    assert history is not None
    assert not history.is_contested


def test_the_last_known_field_manager_is_named() -> None:
    history = after_apply(ApplyHistory("a", 0.0, 8, "rival"), "a", 1.0)
    assert "by field manager 'rival';" in contested_text("Secret a/b", history, exists=True)
    assert "deleted again and again" in contested_text("Secret a/b", history, exists=False)
