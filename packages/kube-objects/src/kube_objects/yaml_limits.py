"""What reading one file may cost; repositories are written by strangers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """
    Bounds for one file.

    `aliases` is how many may be repeated in one document (above zero, merge keys are read too),
    `expanded_nodes` what they may add to it.
    """

    file_bytes: int = 1 << 20
    documents: int = 20_000
    depth: int = 64
    aliases: int = 0
    expanded_nodes: int = 100_000


DEFAULT_LIMITS = Limits()
