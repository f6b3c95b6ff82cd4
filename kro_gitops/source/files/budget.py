"""
How many documents and bytes all sources of a controller may have together.

Every source keeps its objects in memory, so without a limit a few small repositories of one tenant
could use the memory of all. A namespace may have as much as it leaves free for others: alone it
gets half of the total, a second one half of the rest (the rule of `control.slots`). What a source
has already is never taken away from it; a revision that needs too much is not read, and the last
one stays in force.

Revisions are read in threads, so everything here is locked.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from kube_objects.errors import RefusedError


@dataclass(frozen=True, slots=True)
class Amount:
    """How much is kept of a source, or may be."""

    documents: int = 0
    size: int = 0  # bytes of the files

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.documents + other.documents, self.size + other.size)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.documents - other.documents, self.size - other.size)


UNLIMITED = Amount(1 << 62, 1 << 62)
NOTHING = Amount()


class ReadBudget:
    """The documents and bytes that sources share; the name of a source is `namespace/name`."""

    def __init__(
        self, total: Amount = UNLIMITED, observe: Callable[[str, Amount], None] | None = None
    ) -> None:
        """Take the limits, and what is called with a source and what it has now."""
        self._total = total
        self._observe = observe
        self._sources: dict[str, Amount] = {}
        self._lock = threading.Lock()

    def reserve(self, source: str, amount: Amount) -> None:
        """Record what a source has from now on; raise RefusedError if that is too much."""
        namespace = source.partition("/")[0]
        with self._lock:
            used = others = NOTHING  # by the namespace without this source, and by all others
            for name, each in self._sources.items():
                if name == source:
                    continue
                if name.startswith(f"{namespace}/"):
                    used += each
                else:
                    others += each
            former, needed = self._sources.get(source, NOTHING), used + amount
            free = self._total - others
            for what, before, own, now, left, total in (
                (
                    "documents",
                    *(former.documents, amount.documents, needed.documents),
                    *(free.documents, self._total.documents),
                ),
                ("bytes", former.size, amount.size, needed.size, free.size, self._total.size),
            ):
                # One that shrinks is let through, though others have come meanwhile.
                if now > left // 2 and own > before:
                    raise RefusedError(
                        "sources-too-large",
                        f"the sources of namespace {namespace} would have {now:,} {what}, and may "
                        f"have {max(left // 2, 0):,} of the {total:,} that all sources share",
                        hint="remove files, choose fewer with spec.paths, or ask the operator for "
                        "higher limits (--source-documents, --source-size)",
                    )
            self._sources[source] = amount
        if self._observe is not None:
            self._observe(source, amount)

    def release(self, source: str) -> None:
        """Forget a source that is gone."""
        with self._lock:
            self._sources.pop(source, None)
        if self._observe is not None:
            self._observe(source, NOTHING)
