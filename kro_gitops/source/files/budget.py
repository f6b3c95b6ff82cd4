"""
How many documents and bytes all sources of a controller may have together.

Every source keeps its objects in memory, so without a limit a few small repositories of one tenant
could use the memory of all. A namespace may have as much as it leaves free for others: alone it
gets half of the total, a second one half of the rest (the rule of `control.slots`). What a source
has already is never taken away from it; a revision that needs too much is not read, and the last
one stays in force.
"""

from collections.abc import Mapping
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


def check_budget(
    source: str, amount: Amount, reserved: Mapping[str, Amount], total: Amount
) -> None:
    """
    Raise RefusedError if a source, named `namespace/name`, may not have an amount.

    `reserved` is what each source has now.
    """
    namespace = source.partition("/")[0]
    used = others = NOTHING  # by the namespace without this source, and by all others
    for name, each in reserved.items():
        if name == source:
            continue
        if name.startswith(f"{namespace}/"):
            used += each
        else:
            others += each
    former, needed, free = reserved.get(source, NOTHING), used + amount, total - others
    for what, before, own, now, left, most in (
        (
            "documents",
            *(former.documents, amount.documents, needed.documents),
            *(free.documents, total.documents),
        ),
        ("bytes", former.size, amount.size, needed.size, free.size, total.size),
    ):
        # One that shrinks is let through, though others have come meanwhile.
        if now > left // 2 and own > before:
            raise RefusedError(
                "sources-too-large",
                f"the sources of namespace {namespace} would have {now:,} {what}, and may "
                f"have {max(left // 2, 0):,} of the {most:,} that all sources share",
                hint="remove files, choose fewer with spec.paths, or ask the operator for "
                "higher limits (--source-documents, --source-size)",
            )
