"""
A bare repository on disk, and the only class that runs git.

All commands of GitPython go through its `Git`, which also keeps hold of long-lived processes. It
inherits our environment and turns keyword arguments into options, and most of its advisories came
from there. So `GitRunner` replaces it: it runs what `commands` built and nothing else. Not used of
the library are its execution (no limits, see `process`), its `Repo` (it reads from our own
environment, GIT_DIR or GIT_OBJECT_DIRECTORY, which repository to open), and its reading of objects
(SHA-1 only, one at a time, see `reader`).
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from kro_gitops.source.git import commands, process
from kro_gitops.source.git.commands import Command
from kro_gitops.source.git.process import Limits, Outcome

# GitPython looks for git when it is imported, and raises where there is none. The engine alone
# needs no git, and `process` reports it when something is fetched.
os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
from git.cmd import Git

_HOME = "home"
_FORMATS = {
    40: "[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
    64: "[core]\n\trepositoryformatversion = 1\n\tbare = true\n"
    "[extensions]\n\tobjectformat = sha256\n",
}


class Damaged(Exception):  # noqa: N818 - a state that is repaired, never shown
    """The repository on disk is not what we left there."""


class GitRunner(Git):
    """Runs what `commands` built, in an environment that inherits nothing; rejects all else."""

    def execute(  # type: ignore[override]  # narrower on purpose: one form, one result
        self,
        command: Command | Sequence[str],
        istream: int | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        as_process: bool = False,
        **_: Any,
    ) -> Any:
        """Run a command, or start the one that reads objects."""
        folder = Path(str(self._working_dir))
        plain = environment if environment is not None else local_environment(folder)
        if isinstance(command, Command) and limits is not None:
            return process.run(command, plain, folder, limits)
        reads = as_process and istream == subprocess.PIPE
        if not isinstance(command, Command) and reads and tuple(command[1:]) == commands.READER:
            started = process.start(commands.READER, plain, folder, subprocess.PIPE)
            process.confine(started.pid, Limits(0))
            return self.AutoInterrupt(started, ["git", *commands.READER])
        raise commands.refused_command([] if isinstance(command, Command) else command[1:])


def local_environment(folder: Path) -> dict[str, str]:
    """Return the environment of a command that stays on this machine."""
    home = str(folder.parent / _HOME)
    return {
        **commands.environment(home=home, path=process.search_path(), git_dir=str(folder)),
        **commands.configuration(git_dir=str(folder)),
    }


def prepare_root(root: Path) -> Path:
    """Create the folder of all mirrors, which only we can read, and git's empty home in it."""
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    root = root.resolve()
    (root / _HOME).mkdir(mode=0o700, exist_ok=True)
    return root


def home_of(root: Path) -> Path:
    """Name the empty home below the folder of all mirrors."""
    return root / _HOME


class Repository:
    """One bare repository: created when needed, deleted when damaged."""

    def __init__(self, folder: Path, seconds: float) -> None:
        self.folder = folder
        self.seconds = seconds
        self._reader: Git.AutoInterrupt | None = None

    @property
    def packs(self) -> Path:
        """Name the folder of packs."""
        return self.folder / "objects" / "pack"

    def open(self, digits: int) -> None:
        """Create the repository unless it exists; ids have so many digits."""
        if self._digits() not in (0, digits):
            self.discard()
        if not self._is_whole():
            self.discard()
            root = self.folder.parent
            home, path = str(home_of(root)), process.search_path()
            created = GitRunner(root).execute(
                commands.init(str(self.folder), digits=digits),
                environment=commands.environment(home=home, path=path) | commands.configuration(),
                limits=Limits(self.seconds),
            )
            if created.code != 0:
                raise Damaged
        self.reset_configuration(digits)
        self.clean()

    def clean(self) -> None:
        """Remove what a killed command left: half-written packs and stale locks."""
        process.remove_leftovers(self.packs)
        for pattern in ("*.lock", "refs/kg*/**/*.lock"):
            for lock in self.folder.glob(pattern):
                lock.unlink(missing_ok=True)

    def reset_configuration(self, digits: int = 0) -> None:
        """
        Restore the configuration.

        A fetch with a filter records the remote as one that has the missing objects, and from
        then on git 2.39 would connect for each of them when they are read. We fetch them
        together, so the record is removed.
        """
        text = _FORMATS[digits or self._digits() or 40]
        file = self.folder / "config"
        with contextlib.suppress(FileNotFoundError):
            if file.read_text("utf-8", "replace") == text:
                return
        fresh = file.with_name("config.new")
        fresh.write_text(text, "utf-8")
        fresh.replace(file)

    def run(
        self, command: Command, limits: Limits, environment: Mapping[str, str] | None = None
    ) -> Outcome:
        """Run a command in this repository."""
        done: Outcome = self._runner().execute(command, environment=environment, limits=limits)
        return done

    def ask(self, command: Command) -> bytes:
        """Run a command that cannot fail in a sound repository."""
        done = self.run(command, Limits(self.seconds))
        if done.code != 0:
            raise Damaged
        return done.output

    def keeps(self, id: str) -> bool:
        """Return True if one of our refs keeps an object, with all it needs; marks it as used."""
        file = self._ref(id)
        try:
            holds = file.read_text("ascii").strip() == id
        except (OSError, UnicodeDecodeError):
            return False
        if holds:
            with contextlib.suppress(OSError):
                file.touch()
        return holds

    def keep(self, id: str) -> None:
        """Write a ref that keeps an object."""
        file = self._ref(id)
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh = file.with_name(f"{id}.new")
        fresh.write_text(f"{id}\n", "ascii")
        fresh.replace(file)

    def drop(self, id: str) -> None:
        """Remove a ref of ours."""
        self._ref(id).unlink(missing_ok=True)

    def kept(self) -> list[str]:
        """List what our refs keep, the last used first."""
        folder = self.folder / commands.KEPT
        files = [file for file in folder.glob("*") if file.is_file()] if folder.is_dir() else []
        return [file.name for file in sorted(files, key=lambda f: f.stat().st_mtime, reverse=True)]

    def close(self) -> None:
        """End the process that reads objects."""
        reader, self._reader = self._reader, None
        if reader is not None:
            reader._terminate()

    def discard(self) -> None:
        """Delete the repository."""
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def reader(self) -> subprocess.Popen[bytes]:
        """Return the long-lived process that reads objects, started when needed."""
        found = self._reader.proc if self._reader is not None else None
        if found is None or found.poll() is not None:
            self.close()
            command = ["git", *commands.READER]
            self._reader = self._runner().execute(command, subprocess.PIPE, as_process=True)
            found = self._reader.proc
        return cast("subprocess.Popen[bytes]", found)

    def _runner(self) -> GitRunner:
        if not self._is_whole():
            raise Damaged
        return GitRunner(self.folder)

    def _is_whole(self) -> bool:
        """Check what git checks before it takes a folder for a repository."""
        parts = ("objects/pack", "refs")
        return (self.folder / "HEAD").is_file() and all(
            (self.folder / part).is_dir() for part in parts
        )

    def _ref(self, id: str) -> Path:
        return self.folder / commands.KEPT / id

    def _digits(self) -> int:
        """Return the length of object ids; 0 if there is no repository."""
        try:
            text = (self.folder / "config").read_text("utf-8", "replace")
        except FileNotFoundError:
            return 0
        return 64 if "sha256" in text else 40
