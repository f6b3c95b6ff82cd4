"""
Remembers which children were applied recently, so that repairs of one child back off.

Only recent applies are kept: a child that was not applied for a while costs no memory.
"""

import asyncio

from kro_gitops.engine.plan.children import desired_hash
from kro_gitops.engine.plan.repair_backoff import (
    ApplyHistory,
    after_apply,
    contested_text,
    seconds_to_wait,
)
from kro_gitops.engine.plan.steps import Apply
from kube_objects.refs import ObjectRef


class ContestedChildren:
    """Knows which children other clients keep changing, and when each is applied again."""

    def __init__(self) -> None:
        # In the order of the last apply.
        self._histories: dict[ObjectRef, ApplyHistory] = {}
        # What is reported of each instance's contested children.
        self._texts: dict[ObjectRef, dict[ObjectRef, str]] = {}

    def seconds_to_wait(self, step: Apply) -> float:
        """Return for how long a child is left as it is."""
        now = asyncio.get_running_loop().time()
        return seconds_to_wait(self._histories.get(step.ref), desired_hash(step.object), now)

    def applied(self, instance: ObjectRef, step: Apply, writer: str) -> str:
        """Record an apply; return what to report if another client keeps changing the child."""
        now = asyncio.get_running_loop().time()
        history = after_apply(
            self._histories.pop(step.ref, None), desired_hash(step.object), now, writer
        )
        self._histories[step.ref] = history
        while (first := next(iter(self._histories.items())))[1].stable_at <= now:
            del self._histories[first[0]]
        if not history.is_contested:
            return ""
        text = contested_text(str(step.ref), history, exists=step.live is not None)
        self._texts.setdefault(instance, {})[step.ref] = text
        return text

    def texts(self, instance: ObjectRef) -> tuple[list[str], float]:
        """Return what to report of an instance now, and the seconds until that may change."""
        texts = self._texts.get(instance)
        if not texts:
            return [], 0.0
        now = asyncio.get_running_loop().time()
        left: dict[ObjectRef, float] = {}
        for ref in tuple(texts):
            history = self._histories.get(ref)
            if history is None or not history.is_contested or history.stable_at <= now:
                del texts[ref]
            else:
                left[ref] = history.stable_at - now
        if not texts:
            del self._texts[instance]
            return [], 0.0
        return sorted(texts.values()), min(left.values())

    def text(self, instance: ObjectRef, child: ObjectRef) -> str:
        """Return what to report of a child that is left as it is."""
        return self._texts.get(instance, {}).get(child, "")

    def forget_child(self, child: ObjectRef) -> None:
        """Forget a child that we delete: creating it again later is no repair."""
        self._histories.pop(child, None)

    def forget(self, instance: ObjectRef) -> None:
        """Forget an instance that is gone."""
        self._texts.pop(instance, None)
