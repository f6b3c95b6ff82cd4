"""
What a plugin is, and what it may look at.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kro_gitops.apiserver.deeds import Deed
from kro_gitops.objects.refs import KubeObject


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What else is in the cluster; buckets are plurals with groups ("pods", "jobs.batch")."""

    find: Callable[[str, str, str], KubeObject | None]  # bucket, namespace, name
    all: Callable[[str, str], Iterable[KubeObject]]  # bucket, namespace ("": everywhere)


class Plugin(Protocol):
    """
    One plugin.

    `deed.obj` is the object as it is to be, `deed.old` as it is (`None`: it is created);
    deletions are not asked about. Refusals are `StatusError`s.
    """

    def mutate(self, deed: Deed) -> None:
        """Change the object that is written, before the server prepares and checks it."""

    def validate(self, deed: Deed) -> list[str]:
        """Refuse the object, which is all right otherwise; return what its author should know."""


# By bucket; the kind's subresources are asked about, too (`deed.subresource`).
Plugins = Mapping[str, Sequence[Plugin]]
