"""
The one clock and the one loop that everything is measured with, our engine and its peers alike.

CPU time, so that a busy machine disturbs little, and the median of several rounds, so that the
rest of the disturbance is outvoted. Peers import this file in interpreters of their own: it may
know nothing but the standard library.
"""

import gc
from collections.abc import Callable
from itertools import repeat
from time import process_time
from typing import Any

Call = Callable[[], Any]


def seconds_of(call: Call) -> float:
    """Return the CPU seconds of one call; garbage of earlier work is not its business."""
    gc.collect()
    start = process_time()
    call()
    return process_time() - start


def seconds_per_call(call: Call, spend: float) -> float:
    """Return the CPU seconds of a call, from as many as take about `spend` seconds."""
    count = 1
    elapsed = seconds_of(call)
    while elapsed < spend / 2:
        count = max(2 * count, int(count * spend / max(elapsed, 1e-7)) // 2)
        elapsed = _seconds_of_loop(call, count)
    return elapsed / count


def _seconds_of_loop(call: Call, count: int) -> float:
    gc.collect()
    start = process_time()
    for _ in repeat(None, count):
        call()
    return process_time() - start
