"""
Secrets that are planted, every form in which they could be seen, and somebody who looks for them.
"""

import json
import threading
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, quote_plus

from kube_objects.refs import KubeObject
from tests.child_processes import descendants, look

_LEAST = 16  # characters of a key's line that nobody writes by chance


def forms(secret: str, user: str = "") -> set[str]:
    """Return how a secret may look: as it is, encoded, after a user's name, or line by line."""
    if "\n" in secret:
        lines = (each.strip() for each in secret.splitlines())
        return {each for each in lines if len(each) >= _LEAST and not each.startswith("-----")}
    raw = secret.encode()
    found = {secret, quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1]}
    for text in (raw, f"{user}:{secret}".encode()):
        # The last characters depend on what follows.
        whole = len(text) // 3 * 4
        found |= {b64encode(text).decode()[:whole], urlsafe_b64encode(text).decode()[:whole]}
    return found


@dataclass(frozen=True, slots=True)
class Planted:
    """Secrets by what they are; whoever finds one says which."""

    forms: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, secrets: Mapping[str, str], user: str = "") -> "Planted":
        """Plant secrets; a user's name may go with them."""
        return cls({name: frozenset(forms(each, user)) for name, each in secrets.items()})

    def seen_in(self, text: str) -> list[str]:
        """Return the names of those that a text holds."""
        return [name for name, each in self.forms.items() if any(form in text for form in each)]


@dataclass(slots=True)
class Spy:
    """What others can see of the processes below this one, and of a folder for temporary files."""

    folder: Path
    argvs: dict[tuple[int, str], str] = field(default_factory=dict)
    environments: set[tuple[int, int]] = field(default_factory=set)  # mode and owner
    modes: dict[str, int] = field(default_factory=dict)  # of files, by their names

    def look(self) -> None:
        """Look once."""
        for pid in descendants():
            found = look(pid)
            if found and found.argv:
                self.argvs[pid, found.argv[0]] = " ".join(found.argv)
                with suppress(OSError):
                    status = Path(f"/proc/{pid}/environ").stat()
                    self.environments.add((status.st_mode & 0o777, status.st_uid))
        with suppress(OSError):  # folders come and go
            for path in self.folder.rglob("*"):
                with suppress(OSError):
                    self.modes[str(path)] = path.stat().st_mode & 0o777


@contextmanager
def spying(folder: Path) -> Iterator[Spy]:
    """Look again and again while a block runs."""
    spy, over = Spy(folder), threading.Event()

    def keep_looking() -> None:
        while not over.wait(0.005):
            spy.look()

    thread = threading.Thread(target=keep_looking, daemon=True)
    thread.start()
    try:
        yield spy
    finally:
        over.set()
        thread.join()


def left_in(folder: Path) -> list[Path]:
    """Return the files below a folder."""
    return [each for each in folder.rglob("*") if each.is_file()]


def outside_spec(source: KubeObject) -> str:
    """Return all that is said of an object besides what its author wrote."""
    return json.dumps({key: value for key, value in source.items() if key != "spec"})
