"""What the tests of fetching share: rules for servers of this machine, and a look at processes."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from kro_gitops.errors import KroGitopsError
from kro_gitops.source.api.types import WantedRef
from kro_gitops.source.git.credentials import ANONYMOUS, Credentials, Proxy
from kro_gitops.source.git.mirror import Mirror, Mirrors
from kro_gitops.source.git.revisions import choose, patterns
from kro_gitops.source.git.types import FetchRules, Remote
from tests.child_processes import Process, look, own_descendants

ON_THIS_MACHINE = FetchRules(allow_private_networks=True, allow_plain_http=True)
MAIN = WantedRef(branch="main")


@dataclass(slots=True)
class Fetcher:
    """Makes mirrors below a folder, one set for each set of rules, and closes what it opened."""

    root: Path
    opened: list[Mirror] = field(default_factory=list)

    def mirror(
        self,
        url: str,
        credentials: Credentials = ANONYMOUS,
        *,
        proxy: Proxy | None = None,
        timeout: float = 20.0,
        rules: FetchRules = ON_THIS_MACHINE,
        filters_blobs: bool = False,
    ) -> Mirror:
        remote = Remote(url, credentials, proxy, timeout=timeout, filters_blobs=filters_blobs)
        mirror = Mirrors(self.root, rules).of(remote)
        self.opened.append(mirror)
        return mirror

    def close(self) -> None:
        for mirror in self.opened:
            mirror.close()


def newest(mirror: Mirror, wanted: WantedRef = MAIN) -> str:
    """Ask, choose and fetch; return the commit."""
    chosen = choose(mirror.ask(patterns(wanted)), wanted)
    mirror.fetch(chosen)
    return chosen.commit


def texts(mirror: Mirror, commit: str) -> dict[str, bytes]:
    """Return the files of a commit by their paths."""
    entries = mirror.tree(commit)
    contents = mirror.read([entry.id for entry in entries])
    return {entry.path: contents[entry.id] for entry in entries}


def failure(action: Callable[[], object]) -> KroGitopsError:
    """Return the error that an action must end in."""
    with pytest.raises(KroGitopsError) as caught:
        action()
    return caught.value


def everything_said(error: BaseException | None) -> str:
    """Return all that an error and those behind it hold, attributes too."""
    said: list[str] = []
    while error is not None:
        said.extend((str(error), repr(error), repr(error.args), repr(vars(error))))
        said.extend(getattr(error, "__notes__", ()))
        error = error.__cause__ or error.__context__
    return "\n".join(said)


@dataclass(slots=True)
class Watch:
    """The processes that were seen below this one."""

    seen: dict[int, Process] = field(default_factory=dict)

    def look(self) -> None:
        for pid in own_descendants():
            found = look(pid)
            # A child shows its parent's words until it has become another program.
            if found and found.argv and "pytest" not in " ".join(found.argv):
                self.seen[pid] = found

    def argvs(self) -> str:
        return "\n".join(" ".join(process.argv) for process in self.seen.values())

    def environments(self) -> str:
        return "\n".join(process.environment for process in self.seen.values())


@contextmanager
def watching() -> Iterator[Watch]:
    """Look at all processes below this one, again and again, while a block runs."""
    watch, over = Watch(), threading.Event()

    def keep_looking() -> None:
        while not over.wait(0.003):
            watch.look()

    thread = threading.Thread(target=keep_looking, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        over.set()
        thread.join()


class Records(logging.Handler):
    """Every log record, with all of its fields."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage() + repr(vars(record)))


@contextmanager
def recording() -> Iterator[list[str]]:
    """Give the list to which every log record of this process goes."""
    records = Records()
    root = logging.getLogger()
    level = root.level
    root.addHandler(records)
    root.setLevel(logging.DEBUG)
    try:
        yield records.texts
    finally:
        root.removeHandler(records)
        root.setLevel(level)


def changed(rules: FetchRules = ON_THIS_MACHINE, **values: Any) -> FetchRules:
    """Return the rules with some values changed."""
    return replace(rules, **values)


def until(condition: Callable[[], bool]) -> None:
    """Wait for something to happen."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)
