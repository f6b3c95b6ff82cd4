"""
What a platform switches on when definitions are compiled, with kro's defaults.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Options:
    """Feature gates and limits; the same values must hold in the cluster."""

    omit: bool = False
    max_dimensions: int = 10
    max_collection_size: int = 1000


DEFAULTS = Options()
