"""
When a child that other clients keep changing or deleting is applied again.

The first applies of the same content are made at once: a change by hand is undone immediately. If
they go on following one another, the other client is a controller that undoes ours, and the pauses
grow. Content that changed, or a child that stayed as it was for a while, starts from the beginning.
"""

from dataclasses import dataclass

FREE_APPLIES = 5  # applies of the same content without a pause between them
MAX_PAUSE = 300.0  # seconds
_FIRST_PAUSE = 1.0  # seconds, doubled with each apply
_STABLE_AFTER = 60.0  # seconds without an apply, at least


@dataclass(frozen=True, slots=True)
class ApplyHistory:
    """Applies of one child with the same content, the last at `last` seconds."""

    desired: str  # the hash of the content
    last: float
    count: int = 1
    writer: str = ""  # the field manager whose change was undone last, if known

    @property
    def is_contested(self) -> bool:
        """Return whether another client keeps changing the child."""
        return self.count > FREE_APPLIES

    @property
    def pause(self) -> float:
        """Return the seconds from the last apply to the next one."""
        if not self.is_contested:
            return 0.0
        return min(_FIRST_PAUSE * 2.0 ** min(self.count - FREE_APPLIES - 1, 30), MAX_PAUSE)

    @property
    def stable_at(self) -> float:
        """Return when the child counts as stable, if it is not applied before."""
        return self.last + max(_STABLE_AFTER, 2 * self.pause)


def seconds_to_wait(history: ApplyHistory | None, desired: str, now: float) -> float:
    """Return for how long a child that has to be applied is left as it is."""
    if history is None or history.desired != desired or now >= history.stable_at:
        return 0.0
    return max(0.0, history.last + history.pause - now)


def after_apply(
    history: ApplyHistory | None, desired: str, now: float, writer: str = ""
) -> ApplyHistory:
    """Return the history of a child that was applied now; `writer` is whose change it undid."""
    if history is None or history.desired != desired or now >= history.stable_at:
        return ApplyHistory(desired, now, writer=writer)
    return ApplyHistory(desired, now, history.count + 1, writer or history.writer)


def contested_text(place: str, history: ApplyHistory, *, exists: bool) -> str:
    """Return what to report about a child that another client keeps changing or deleting."""
    if not exists:
        return (
            f"{place} is deleted again and again by another client; "
            "it is created again with growing pauses"
        )
    who = f"field manager '{history.writer}'" if history.writer else "another field manager"
    return f"{place} is changed again and again by {who}; it is repaired with growing pauses"
