"""
Where a hostile repository is built: a repository, a server, and two traps.

The marker is a file that must never be made: whatever runs a command of the repository's makes
it. The canary is a file outside the repository whose content must never be seen.
"""

import secrets
from dataclasses import dataclass
from pathlib import Path

from tests.git_repositories import GitRepository
from tests.git_servers import HttpServer

GOOD_FILE = "apps/good.yaml"
BAD_FILE = "apps/bad.yaml"


@dataclass(frozen=True, slots=True)
class Stage:
    """A repository below a served folder, and the traps around it."""

    repository: GitRepository
    server: HttpServer
    folder: Path

    @property
    def url(self) -> str:
        return self.server.url(self.repository.path.name)

    @property
    def marker(self) -> Path:
        return self.folder / "marker"

    @property
    def canary(self) -> Path:
        return self.folder / "canary.yaml"

    @property
    def command(self) -> str:
        """Return a shell command that makes the marker, without a blank in it."""
        return f"touch${{IFS}}{self.marker}"

    def set_traps(self) -> str:
        """Write the canary and return the word in it that must not be seen."""
        word = f"canary-{secrets.token_hex(8)}"
        self.canary.write_text(config_map(word), encoding="utf-8")
        return word

    def commit(self, bad: str | bytes, file: str = BAD_FILE) -> None:
        """Commit a bad file beside a good one, which must be read in spite of it."""
        self.repository.commit({GOOD_FILE: config_map("good"), file: bad})


def config_map(name: str) -> str:
    """Return a small manifest."""
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n"
