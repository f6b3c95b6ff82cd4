"""
A visit to a remote: checked, pinned, logged in, watched, and its failures explained.

Everything is done anew for each visit (the rules and the address of a name may have changed), and
nothing of a login outlives it. What git said is redacted here, before anybody else sees it.
"""

from collections.abc import Sequence
from pathlib import Path

from kro_gitops.source.api.redaction import redact
from kro_gitops.source.api.url_policy import check_url
from kro_gitops.source.git import commands, errors, process
from kro_gitops.source.git.auth import Login, login
from kro_gitops.source.git.commands import Command
from kro_gitops.source.git.output import parse_refs
from kro_gitops.source.git.process import Limits, Outcome, Stopped
from kro_gitops.source.git.repository import Damaged, Door, Repository, home_of
from kro_gitops.source.git.resolve import pin
from kro_gitops.source.git.revisions import RemoteRefs
from kro_gitops.source.git.types import FetchRules, Remote

_TRACE = {"GIT_TRACE_CURL": "1", "GIT_TRACE_CURL_NO_DATA": "1"}


class Wire:
    """Talks to one remote; `root` is the folder of all mirrors."""

    def __init__(self, remote: Remote, rules: FetchRules, root: Path) -> None:
        self.remote = remote
        self.rules = rules
        self.root = root
        self.address = check_url(remote.url, rules)

    def ask(self, patterns: Sequence[str]) -> RemoteRefs:
        """Ask for refs."""
        return parse_refs(self._visit(commands.ls_remote(self._url, patterns)))

    def fetch(self, repository: Repository, refspecs: Sequence[str], depth: int = 1) -> None:
        """Fetch what the refspecs say."""
        filters = self.remote.filters_blobs
        self._bring(commands.fetch(self._url, refspecs, depth=depth, filters=filters), repository)

    def fetch_blobs(self, repository: Repository, ids: Sequence[str]) -> None:
        """Fetch files that a filter left out, all at once."""
        self._bring(commands.fetch_blobs(self._url, ids), repository)

    @property
    def _url(self) -> str:
        if self.address.scheme == "file" and not self.remote.url.startswith("file://"):
            return str(Path(self.remote.url).absolute())
        return self.remote.url

    def _bring(self, command: Command, repository: Repository) -> None:
        try:
            self._visit(command, repository)
        finally:
            repository.clean()
            repository.reset_configuration()

    def _visit(self, command: Command, repository: Repository | None = None) -> bytes:
        pins = pin(self.address, self.remote.proxy, self.rules)
        path = process.search_path()
        with login(self.remote, self.address, pins, path) as how:
            done = self._run(command, self._environment(how, path, command, repository), repository)
            if done.stopped or done.code != 0:
                said = redact(done.complaint.decode("utf-8", "replace"), how.secrets)
                if not done.stopped and errors.is_redirect(said):
                    raise errors.redirected(self._trace(how, path))
                self._fail(done, said, repository)
        return done.output

    def _environment(
        self, how: Login, path: str, command: Command, repository: Repository | None
    ) -> dict[str, str]:
        folder = str(repository.folder) if repository is not None else ""
        protocols = (self.address.scheme,)
        home = str(home_of(self.root))
        more = (*how.configuration, *command.configuration)
        return {
            **commands.environment(home=home, path=path, git_dir=folder, protocols=protocols),
            **how.environment,
            **commands.configuration(git_dir=folder, protocols=protocols, more=more),
        }

    def _run(
        self, command: Command, environment: dict[str, str], repository: Repository | None
    ) -> Outcome:
        seconds = self.remote.timeout
        if repository is None:
            return outside(self.root, command, environment, Limits(seconds))
        limits = Limits(seconds, growth_bytes=self.rules.pack_bytes, watched=repository.packs)
        return repository.run(command, limits, environment)

    def _fail(self, done: Outcome, said: str, repository: Repository | None) -> None:
        if done.stopped == Stopped.TIME:
            raise errors.timed_out(self.remote.timeout)
        if done.stopped == Stopped.OUTPUT:
            raise errors.too_many_refs()
        if done.stopped or errors.is_exhausted(said):
            raise errors.too_large(self.rules.pack_bytes)
        if repository is not None and errors.is_damage(said):
            raise Damaged(said)
        raise errors.error_for(said)

    def _trace(self, how: Login, path: str) -> str:
        """Ask again, and listen where the server points: git itself does not tell."""
        command = commands.ls_remote(self._url, ["HEAD"])
        environment = self._environment(how, path, command, None) | _TRACE
        done = outside(self.root, command, environment, Limits(self.remote.timeout))
        # A server may point at an address that holds the login it was sent.
        return redact(done.complaint.decode("utf-8", "replace"), how.secrets)


def outside(root: Path, command: Command, environment: dict[str, str], limits: Limits) -> Outcome:
    """Run a command that needs no repository, where there is none."""
    done: Outcome = Door(home_of(root)).execute(command, environment=environment, limits=limits)
    return done
