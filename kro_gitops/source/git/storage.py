"""
The folder of all mirrors, and how much of the disk they may use.

Mirrors are a cache, and the volume is shared by all sources. So there are two limits: of all
mirrors, and of those that only one namespace uses. Before a fetch, mirrors that were not used for
the longest time are evicted until the largest allowed fetch would fit; their next fetch is a full
one. What running fetches may still add counts as used. A fetch that needs more than is left ends,
and the mirror starts again without the revisions it had; if even that does not fit, the source
reports it. A mirror that several namespaces use counts for the limit of all mirrors only: no tenant
can have it evicted by filling a namespace.

The folder may also vanish while we run: cleaners of temporary files remove what was not read for
days, and an administrator may empty a volume. It is created again, and the next fetch fills it. A
folder that another user has put in its place is not used. What cannot be repaired here (no
permission, no space) becomes an error of the source, with the path.
"""

import contextlib
import errno
import logging
import os
import shutil
import stat
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kro_gitops.errors import KroGitopsError, Unavailable
from kro_gitops.source.git.locks import locked
from kro_gitops.source.git.process import folder_size
from kro_gitops.source.git.repository import Damaged, home_of, prepare_root
from kro_gitops.source.git.types import FetchRules
from kube_objects.errors import RefusedError

log = logging.getLogger(__name__)

_DISK_ERRORS = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO))
_CHECK_DISK = "check the volume or folder of --storage-path: its space, its permissions, its owner"
_SMALLEST_FETCH = 1 << 20


class Full(Damaged):
    """The mirror cannot grow beside the revisions that it holds: it must start again."""

    def __init__(self, error: KroGitopsError) -> None:
        super().__init__()
        self.error = error


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many bytes a mirror may grow; `error` is what to raise if the storage is the reason."""

    size: int
    error: Exception | None = None

    def require_some(self) -> None:
        """Raise if nothing can be fetched at all."""
        if self.error is not None and self.size < _SMALLEST_FETCH:
            raise self.error


class Storage:
    """The folder of all mirrors; its methods may be called from any thread."""

    def __init__(
        self,
        root: Path,
        rules: FetchRules,
        release: Callable[[str], bool],
        observe: Callable[[int, int], None] | None = None,
    ) -> None:
        """
        Take the folder and its limits.

        `release` ends the processes of a mirror, and returns False if it is in use. `observe` is
        called with the bytes of all mirrors and the number of those that were evicted.
        """
        self.root = prepare_root(root)
        self._owner = self.root.stat().st_uid  # of a volume, it may be another user than we
        self._rules = rules
        self._release = release
        self._observe = observe
        self._lock = threading.Lock()
        self._recent: dict[str, None] = {}  # mirrors that were used, the last one at the end
        self._namespaces: dict[str, frozenset[str]] = {}
        self._growing: dict[str, int] = {}  # bytes that running fetches may add

    @contextlib.contextmanager
    def use(self, identity: str = "") -> Iterator[None]:
        """Have the folder, and mark a mirror as used; raise `Unavailable` if that fails."""
        try:
            self._prepare()
            if identity:
                with self._lock:
                    self._recent.pop(identity, None)
                    self._recent[identity] = None
            yield
        except OSError as error:
            text = error.strerror or type(error).__name__
            file = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
            message = f"{text}: {file}" if file else text
            if error.errno in _DISK_ERRORS or file.startswith(str(self.root)):
                raise _failed(message) from error
            raise Unavailable("git-failed", f"git cannot be run: {message}") from error

    def assign(self, identity: str, namespace: str) -> None:
        """Record that a namespace uses a mirror."""
        with self._lock:
            known = self._namespaces.get(identity, frozenset())
            self._namespaces[identity] = known | {namespace}

    def set_namespaces(self, namespaces: Mapping[str, Collection[str]]) -> None:
        """Record which namespaces use which mirrors; those of before are dropped."""
        with self._lock:
            self._namespaces = {name: frozenset(users) for name, users in namespaces.items()}

    @contextlib.contextmanager
    def growing(self, identity: str, most: int) -> Iterator[Allowance]:
        """Make room for a mirror to grow by `most` bytes; yield how many of them it may use."""
        with self._lock:
            allowance = self._make_room(identity, most)
            self._growing[identity] = max(0, allowance.size)
        try:
            yield allowance
        finally:
            with self._lock:
                del self._growing[identity]
            self.report()

    def delete(self, identity: str) -> bool:
        """Delete a mirror unless it is in use, by us or by another process."""
        if not self._release(identity):
            return False
        try:
            with locked(self.root / f"{identity}.lock", waits=False):
                shutil.rmtree(self.root / identity, ignore_errors=True)
        except BlockingIOError:
            return False
        return True

    def report(self, evicted: int = 0) -> None:
        """Report how much of the disk is used."""
        if self._observe is not None:
            self._observe(sum(self._sizes().values()), evicted)

    def _make_room(self, identity: str, most: int) -> Allowance:
        sizes, growing = self._sizes(), self._growing
        used = {
            name: sizes.get(name, 0) + growing.get(name, 0)
            for name in sizes.keys() | growing.keys()
        }
        own = used.pop(identity, 0)
        age = {name: number for number, name in enumerate(self._recent)}  # of earlier runs: none
        oldest_first = sorted(used, key=lambda name: age.get(name, -1))
        users = self._namespaces.get(identity, frozenset())
        allowance, evicted = Allowance(most), 0
        # First those of the namespace: what it evicts of its own makes room for all.
        for limit, is_of_namespace in (
            (self._rules.namespace_storage_bytes if len(users) == 1 else 0, True),
            (self._rules.storage_bytes, False),
        ):
            if not limit:
                continue
            members = [
                name
                for name in oldest_first
                if name in used and (not is_of_namespace or self._namespaces.get(name) == users)
            ]
            left = limit - own - sum(used[name] for name in members)
            for name in members:
                if left >= most:
                    break
                if name not in self._growing and self.delete(name):
                    left += used.pop(name)
                    self._recent.pop(name, None)
                    evicted += 1
            if left < allowance.size:
                is_alone = not any(used.get(name) for name in members)
                error = _exceeded(limit, is_of_namespace=is_of_namespace, is_alone=is_alone)
                allowance = Allowance(left, Full(error) if own else error)
        if evicted:
            self.report(evicted)
        return allowance

    def _sizes(self) -> dict[str, int]:
        """Measure all mirrors, also those of earlier runs."""
        with os.scandir(self.root) as entries:
            folders = [Path(each.path) for each in entries if each.is_dir(follow_symlinks=False)]
        mirrors = (each for each in folders if each != home_of(self.root))
        return {each.name: folder_size(each / "objects" / "pack") for each in mirrors}

    def _prepare(self) -> None:
        """Create the folder again if it is gone."""
        try:
            found = self.root.lstat()
        except FileNotFoundError:
            log.warning("the storage folder was gone", extra={"folder": str(self.root)})
        else:
            if not stat.S_ISDIR(found.st_mode):
                raise _failed(f"{self.root} is no folder any more")
            if found.st_uid not in (self._owner, os.getuid()):
                raise _failed(f"{self.root} belongs to another user now")
        prepare_root(self.root)


def _exceeded(limit: int, *, is_of_namespace: bool, is_alone: bool) -> KroGitopsError:
    whose = "the repositories of one namespace" if is_of_namespace else "all repositories"
    if is_alone:
        return RefusedError(
            "git-storage-exceeded",
            f"the repository alone needs more than {limit >> 20} MiB of storage, which is the"
            f" limit for {whose}",
            hint="keep manifests in a repository of their own, set 'blobFilter', or let the"
            " operator raise --storage-size",
        )
    return Unavailable(
        "git-storage-full",
        f"the fetch needs more storage than is left while others run; {whose} may use"
        f" {limit >> 20} MiB",
        hint="it is tried again; if this comes back, let the operator raise --storage-size",
    )


def _failed(message: str) -> Unavailable:
    text = f"the storage of fetched repositories cannot be used: {message}"
    return Unavailable("git-storage-failed", text, hint=_CHECK_DISK)
