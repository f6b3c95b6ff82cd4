"""Following a source through watches that end, and what is printed at the end."""

import io
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager

import pytest

from kro_gitops.cli.messages import Style
from kro_gitops.cli.source_waiting import follow, outcome_text
from kro_gitops.errors import ClusterUnavailable
from kro_gitops.inspect.views.source_progress import Outcome
from kro_gitops.kube.api import EventType, Listing, Selection, Transform, WatchEvent, as_served
from kro_gitops.kube.responses import Expired, Status
from kube_objects.refs import KubeObject, ObjectRef
from tests.virtual_time import run

EXPIRED = Expired(Status(410, "Expired", "too old"))
AWAY = ClusterUnavailable("cluster-unavailable", "no answer")


def source(version: str) -> KubeObject:
    return {
        "apiVersion": "gitops.kro.run/v1alpha1",
        "kind": "GitSource",
        "metadata": {"name": "shop", "namespace": "gitops", "resourceVersion": version},
    }


class Script:
    """A server whose watches and lists are written down beforehand."""

    def __init__(
        self,
        watches: Sequence[Sequence[WatchEvent] | Exception],
        lists: Sequence[Listing | Exception],
    ) -> None:
        self.watches, self.lists = list(watches), list(lists)
        self.asked: list[tuple[str, str, str]] = []

    @asynccontextmanager
    async def watch(
        self, selection: Selection, since: str
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        self.asked.append((selection.namespace, selection.fields, since))
        events = self.watches.pop(0)
        if isinstance(events, Exception):
            raise events

        async def give() -> AsyncIterator[WatchEvent]:
            for each in events:
                yield each

        yield give()

    async def list(self, selection: Selection, keep: Transform = as_served) -> Listing:
        found = self.lists.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    async def get(self, ref: ObjectRef) -> KubeObject:
        raise NotImplementedError

    async def find(self, ref: ObjectRef) -> KubeObject | None:
        raise NotImplementedError


def event(type_: EventType, version: str) -> WatchEvent:
    return WatchEvent(type_, source(version))


def versions(script: Script, most: int) -> list[str | None]:
    async def collect() -> list[str | None]:
        found: list[str | None] = []
        async with aclosing(follow(script, source("1"))) as states:
            async for state in states:
                found.append(state["metadata"]["resourceVersion"] if state else None)
                if len(found) == most:
                    break
        return found

    return run(collect())


def test_only_the_source_itself_is_watched_from_the_version_that_was_written() -> None:
    script = Script([[event(EventType.MODIFIED, "2")]], [])
    assert versions(script, 2) == ["1", "2"]
    assert script.asked == [("gitops", "metadata.name=shop", "1")]


def test_bookmarks_are_no_news() -> None:
    events = [event(EventType.BOOKMARK, "5"), event(EventType.DELETED, "6")]
    assert versions(Script([events], []), 2) == ["1", None]


@pytest.mark.parametrize("end", [[], EXPIRED, AWAY], ids=["ended", "expired", "broken off"])
def test_what_happened_while_nobody_watched_is_listed(
    end: Sequence[WatchEvent] | Exception,
) -> None:
    script = Script([end, [event(EventType.MODIFIED, "9")]], [Listing((source("8"),), "8")])
    assert versions(script, 3) == ["1", "8", "9"]
    assert script.asked[1][2] == "8"


def test_a_source_that_went_while_nobody_watched() -> None:
    assert versions(Script([[]], [Listing((), "8")]), 2) == ["1", None]


def test_a_server_that_is_away_for_a_while() -> None:
    script = Script([AWAY, AWAY, [event(EventType.MODIFIED, "9")]], [AWAY, AWAY])
    assert versions(script, 2) == ["1", "9"]
    assert [since for _, _, since in script.asked] == ["1", "1", "1"]


def test_the_outcome_is_fit_for_a_terminal() -> None:
    outcome = Outcome(False, "shop is not ready\x1b[2J", ("a.yaml:1:1: x\n",), "look")
    assert outcome_text(outcome, Style(io.StringIO())) == (
        "shop is not ready�[2J\na.yaml:1:1: x \nhint: look\n"
    )
