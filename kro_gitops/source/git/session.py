"""
Runs a command against a remote: checked, pinned, logged in, limited, and its failures explained.

Everything is done again for each command (the rules and the addresses of a name may have changed),
and nothing of a login outlives it. The output of git is redacted here, before any other code sees
it.
"""

from collections.abc import Sequence
from pathlib import Path

from kro_gitops.errors import KroGitopsError
from kro_gitops.source.api.redaction import redact
from kro_gitops.source.api.url_policy import check_url
from kro_gitops.source.git import commands, errors, process
from kro_gitops.source.git.auth import Login, login
from kro_gitops.source.git.commands import Command
from kro_gitops.source.git.memory import git_memory
from kro_gitops.source.git.output import parse_refs
from kro_gitops.source.git.process import Limits, Outcome, Stopped
from kro_gitops.source.git.repository import Damaged, GitRunner, Repository, home_of
from kro_gitops.source.git.resolve import pin
from kro_gitops.source.git.revisions import RemoteRefs
from kro_gitops.source.git.storage import Allowance, Storage
from kro_gitops.source.git.types import FetchRules, Remote

_NOTHING = Allowance(0)
_TRACE = {"GIT_TRACE_CURL": "1", "GIT_TRACE_CURL_NO_DATA": "1"}


class RemoteSession:
    """Talks to one remote."""

    def __init__(self, remote: Remote, rules: FetchRules, storage: Storage) -> None:
        self.remote = remote
        self.rules = rules
        self.storage = storage
        self.root = storage.root
        self.address = check_url(remote.url, rules)

    def ask(self, patterns: Sequence[str]) -> RemoteRefs:
        """Ask for refs."""
        rules = self.rules
        try:
            return parse_refs(self._execute(commands.ls_remote(self._url, patterns)), rules.refs)
        except OverflowError:
            raise errors.too_many_refs(rules) from None

    def fetch(self, repository: Repository, refspecs: Sequence[str], depth: int = 1) -> None:
        """Fetch what the refspecs say."""
        filters = self.remote.filters_blobs
        self._fetch(commands.fetch(self._url, refspecs, depth=depth, filters=filters), repository)

    def fetch_blobs(self, repository: Repository, ids: Sequence[str]) -> None:
        """Fetch files that a filter left out, all at once."""
        self._fetch(commands.fetch_blobs(self._url, ids), repository)

    @property
    def _url(self) -> str:
        if self.address.scheme == "file" and not self.remote.url.startswith("file://"):
            return str(Path(self.remote.url).absolute())
        return self.remote.url

    def _fetch(self, command: Command, repository: Repository) -> None:
        with self.storage.growing(repository.folder.name, self.rules.pack_bytes) as allowance:
            allowance.require_some()
            try:
                try:
                    self._execute(command, repository, allowance)
                finally:
                    repository.clean()
                    repository.reset_configuration()
            except KroGitopsError as error:
                if error is allowance.error:  # nothing else is in it, and it may be complete
                    repository.discard()
                raise

    def _execute(
        self,
        command: Command,
        repository: Repository | None = None,
        allowance: Allowance = _NOTHING,
    ) -> bytes:
        """Return what a command prints; without a repository, it runs where there is none."""
        pins = pin(self.address, self.remote.proxy, self.rules)
        path, seconds = process.search_path(), self.remote.timeout
        with login(self.remote, self.address, pins, path) as how:
            environment = self._environment(how, path, command, repository)
            if repository is None:
                # Git lists refs only when it has all of them, so its memory must be limited, too.
                memory, size = git_memory().refs, self.rules.refs_bytes
                limits = Limits(seconds, output_bytes=size, memory_bytes=memory)
                done = outside(self.root, command, environment, limits)
            else:
                limits = Limits(seconds, growth_bytes=allowance.size, watched=repository.packs)
                done = repository.run(command, limits, environment)
            if not done.stopped and done.code == 0:
                return done.output
            said = redact(done.complaint.decode("utf-8", "replace"), how.secrets)
            if not done.stopped and errors.is_redirect(said):
                # Git does not print where the server redirects: ask again with a trace.
                command = commands.ls_remote(self._url, ["HEAD"])
                environment = self._environment(how, path, command, None) | _TRACE
                traced = outside(self.root, command, environment, limits)
                # A server may redirect to an address that holds the login it was sent.
                trace = redact(traced.complaint.decode("utf-8", "replace"), how.secrets)
                raise errors.redirected(trace)
        if done.stopped == Stopped.TIME:
            raise errors.timed_out(seconds)
        is_out_of_memory = not done.stopped and errors.is_out_of_memory(said)
        if repository is None and (done.stopped or is_out_of_memory):
            raise errors.too_many_refs(self.rules)
        if is_out_of_memory:
            raise errors.out_of_memory(limits.memory)
        if done.stopped or errors.is_file_too_large(said):
            raise allowance.error or errors.too_large(self.rules.pack_bytes)
        if repository is not None and errors.is_damage(said):
            raise Damaged(said)
        raise errors.error_for(said)

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


def outside(root: Path, command: Command, environment: dict[str, str], limits: Limits) -> Outcome:
    """Run a command that needs no repository, where there is none."""
    runner = GitRunner(home_of(root))
    done: Outcome = runner.execute(command, environment=environment, limits=limits)
    return done
