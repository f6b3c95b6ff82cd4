"""What sources have reserved of the controller's memory; locked, because threads read revisions."""

import threading
from collections.abc import Callable

from kro_gitops.source.files.budget import NOTHING, UNLIMITED, Amount, check_budget


class ReadBudget:
    """The documents and bytes that sources share; the name of a source is `namespace/name`."""

    def __init__(
        self, total: Amount = UNLIMITED, observe: Callable[[str, Amount], None] | None = None
    ) -> None:
        """Take the limits, and what is called with a source and what it has now."""
        self._total = total
        self._observe = observe
        self._reserved: dict[str, Amount] = {}
        self._lock = threading.Lock()

    def reserve(self, source: str, amount: Amount) -> None:
        """Record what a source has from now on; raise RefusedError if that is too much."""
        with self._lock:
            check_budget(source, amount, self._reserved, self._total)
            self._reserved[source] = amount
        if self._observe is not None:
            self._observe(source, amount)

    def release(self, source: str) -> None:
        """Forget a source that is gone."""
        with self._lock:
            self._reserved.pop(source, None)
        if self._observe is not None:
            self._observe(source, NOTHING)
