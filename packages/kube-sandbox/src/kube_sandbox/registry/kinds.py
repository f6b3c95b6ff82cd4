"""
The kinds that are served, built-in and custom: what discovery tells, and what a request meets.

All versions of a kind share one bucket of the store; each version is served by a `Served` of its
own. The registry changes while it runs, as CustomResourceDefinitions come and go.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from kube_objects.refs import Kind
from kube_objects.schemas import Schema
from kube_sandbox.api_errors import qualified
from kube_sandbox.registry.strategy import Strategy

ALL_VERBS = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)


@dataclass(frozen=True, slots=True)
class Subresource:
    """A part of an object that is served at a path of its own; `kind` is what is served there."""

    name: str
    kind: Kind
    verbs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: where its value is (a JSONPath of kubectl's sort), and its looks."""

    name: str
    type: str
    path: str = ""
    format: str = ""
    description: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Where a custom kind keeps what its scale subresource shows."""

    spec_replicas: str
    status_replicas: str
    selector: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Served:
    """A kind at one version."""

    kind: Kind
    plural: str
    namespaced: bool
    find_schema: Callable[[], Schema] = field(repr=False)  # the same dict every time
    strategy: Strategy = field(repr=False)
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    columns: tuple[Column, ...] = ()
    storage_version: str = ""  # the version in which its objects are stored; empty: this one
    storage_group: str | None = None  # the group that has its objects; `None`: its own
    is_custom: bool = False
    scale: ScalePaths | None = None
    list_kind: str = ""
    selectable: tuple[str, ...] = ()  # JSONPaths of fields that a custom kind can be selected by
    deprecation: str = ""  # a warning to clients

    @property
    def schema(self) -> Schema:
        """Return what its objects look like; found when asked for, since most kinds never are."""
        return self.find_schema()

    @property
    def bucket(self) -> str:
        """Return where its objects are: `deployments.apps`, `configmaps`."""
        group = self.kind.group if self.storage_group is None else self.storage_group
        return qualified(group, self.plural)

    @property
    def list_name(self) -> str:
        """Return the kind of its lists."""
        return self.list_kind or f"{self.kind.kind}List"


class Registry:
    """What is served now."""

    def __init__(self) -> None:
        self._wait_served: dict[tuple[str, str, str], Served] = {}
        self.generation = 0  # changes whenever anything here does
        self._kinds: dict[Kind, Served] = {}  # as of the generation below
        self._kinds_of = 0

    def __iter__(self) -> Iterator[Served]:
        return iter(tuple(self._wait_served.values()))

    def add(self, served: Served) -> None:
        """Serve a kind; one of the same name and version is replaced."""
        self._wait_served[(served.kind.group, served.kind.version, served.plural)] = served
        self.generation += 1

    def remove(self, group: str, plural: str) -> None:
        """Serve a kind no longer, in none of its versions."""
        gone = [key for key in self._wait_served if (key[0], key[2]) == (group, plural)]
        for key in gone:
            del self._wait_served[key]
        self.generation += 1

    def find(self, group: str, version: str, plural: str) -> Served | None:
        """Return what is served at a path, or `None`."""
        return self._wait_served.get((group, version, plural))

    def of_kind(self, kind: Kind) -> Served | None:
        """Return how a kind is served, or `None`."""
        if self._kinds_of != self.generation:
            # The first that has a kind is meant, so what came later must not hide it.
            self._kinds = {each.kind: each for each in reversed(self._wait_served.values())}
            self._kinds_of = self.generation
        return self._kinds.get(kind)
