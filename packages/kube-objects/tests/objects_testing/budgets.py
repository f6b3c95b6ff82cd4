"""How much a generated test may try: little in CI, more in `test-full`, much in `make fuzz`."""

import os

_FACTORS = {"full": 5, "fuzz": 50}


def examples(count: int) -> int:
    """Return how many examples to try where CI tries `count`."""
    return count * _FACTORS.get(os.environ.get("KRO_GITOPS_TESTS", ""), 1)
