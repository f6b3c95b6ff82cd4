"""
Git repositories for tests: bare, quick to fill, and able to hold what git itself would refuse.

Ordinary commits go through `git fast-import`, one process each. What that would not take (a path
with `..`, two entries of one name, a tree that holds itself a thousand times) is written as a
loose object by hand. There is no work tree, no configuration of the machine, and no clock: a
commit is a minute younger than the one before it, so that the same calls make the same ids.
"""

import hashlib
import os
import shutil
import subprocess
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

_FIRST_COMMIT = 1_767_225_600  # 2026-01-01T00:00:00Z
_FOLDER = "40000"


class Signer(Protocol):
    """A key: see `tests/git_keys.py`."""

    def sign(self, payload: bytes) -> bytes:
        """Return an armored signature of a payload."""
        ...


@dataclass(frozen=True, slots=True)
class Person:
    """Who made a commit."""

    name: str
    email: str

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>"


ALICE = Person("Alice", "alice@example.com")
BOB = Person("Bob", "bob@example.com")


@dataclass(frozen=True, slots=True)
class Symlink:
    """A symbolic link, as the content of a file."""

    target: str


@dataclass(frozen=True, slots=True)
class Submodule:
    """A commit of another repository, as the content of a file."""

    commit: str = "1" * 40


@dataclass(frozen=True, slots=True)
class Executable:
    """A file with the mode of a program."""

    content: str


@dataclass(frozen=True, slots=True)
class Stored:
    """A file whose content has been written before, by its id."""

    id: str


Content = str | bytes | Symlink | Submodule | Executable | Stored | None


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A line of a tree object, unchecked; `id` is hex."""

    mode: str
    name: bytes
    id: str


def clean_environment(home: Path) -> dict[str, str]:
    """Return an environment in which git reads nothing of this machine or its user."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
    }


@dataclass(slots=True)
class GitRepository:
    """A bare repository at a path; `GitRepository.create` makes one."""

    path: Path
    hash_name: str = "sha1"
    _moment: int = field(default=_FIRST_COMMIT)

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        branch: str = "main",
        hash_name: str = "sha1",
        settings: Mapping[str, str] | None = None,
    ) -> "GitRepository":
        """Make an empty repository, whose HEAD is `branch`; servers may filter it."""
        path.mkdir(parents=True)
        made = cls(path, hash_name)
        empty_template = f"--object-format={hash_name}", "--template="
        made.git("init", "--quiet", "--bare", f"--initial-branch={branch}", *empty_template, ".")
        for name, value in {"uploadpack.allowFilter": "true", **(settings or {})}.items():
            made.git("config", name, value)
        return made

    def commit(
        self,
        files: Mapping[str, Content],
        message: str = "change",
        *,
        author: Person = ALICE,
        branch: str = "main",
        sign: Signer | None = None,
    ) -> str:
        """Commit a change of some files (None deletes one) and return its id; others stay."""
        changes = (_change(path, content) for path, content in files.items())
        return self._import(changes, message, author, branch, sign)

    def move(self, old: str, new: str, message: str = "move", *, author: Person = ALICE) -> str:
        """Commit that a file or folder has another path, on `main`."""
        change = b"R %s %s\n" % (_quoted(old), _quoted(new))
        return self._import([change], message, author, "main", None)

    def merge(self, branch: str, *, into: str = "main", sign: Signer | None = None) -> str:
        """Merge a branch into another, always by a commit; there must be no conflict."""
        ours, theirs = self.head(into), self.head(branch)
        base = self.git("merge-base", ours, theirs).decode().strip()
        index = {"GIT_INDEX_FILE": str(self.path / "merge-index")}
        three = ("-i", "-m", "--aggressive", base, ours, theirs)
        self.git("read-tree", *three, environment=index)
        tree = self.git("write-tree", environment=index).decode().strip()
        return self.commit_tree(tree, (ours, theirs), f"Merge {branch}", branch=into, sign=sign)

    def tag(
        self,
        name: str,
        commit: str = "",
        *,
        annotated: bool = False,
        sign: Signer | None = None,
    ) -> str:
        """Tag a commit (`main`, if none is named), moving the tag; return what the ref names."""
        made = commit or self.head()
        if annotated or sign:
            who = f"{ALICE} {self._tick()} +0000"
            text = f"object {made}\ntype commit\ntag {name}\ntagger {who}\n\n{name}\n".encode()
            made = self.write("tag", text + (sign.sign(text) if sign else b""))
        self.set_ref(f"refs/tags/{name}", made)
        return made

    def force_branch(self, name: str, commit: str) -> None:
        """Let a branch be a commit, whatever it was."""
        self.set_ref(f"refs/heads/{name}", commit)

    def set_ref(self, name: str, id: str) -> None:
        """Let a full ref name an object; an empty id deletes it."""
        self.git("update-ref", *((name, id) if id else ("-d", name)))

    def head(self, branch: str = "main") -> str:
        """Return the commit of a branch, or nothing if there is none."""
        ref = f"refs/heads/{branch}"
        listed = self.git("for-each-ref", "--format=%(objectname) %(refname)", ref).decode()
        return next((id for id, name in map(str.split, listed.splitlines()) if name == ref), "")

    def blob(self, content: bytes) -> str:
        """Write a file's content and return its id."""
        return self.write("blob", content)

    def zeros(self, size: int) -> str:
        """Write a file of so many zero bytes, without ever holding them; return its id."""
        digest, packer = hashlib.new(self.hash_name), zlib.compressobj(1)
        scratch = self.path / "zeros"
        with scratch.open("wb") as file:
            for piece in _pieces(f"blob {size}\0".encode(), size):
                digest.update(piece)
                file.write(packer.compress(piece))
            file.write(packer.flush())
        id = digest.hexdigest()
        place = self.path / "objects" / id[:2] / id[2:]
        place.parent.mkdir(exist_ok=True)
        scratch.rename(place)
        return id

    def tree(self, entries: Iterable[TreeEntry]) -> str:
        """Write a folder with exactly these entries, in this order, and return its id."""
        lines = (f"{e.mode} ".encode() + e.name + b"\0" + bytes.fromhex(e.id) for e in entries)
        return self.write("tree", b"".join(lines))

    def nested(self, names: Sequence[bytes], entry: TreeEntry) -> str:
        """Write folders in one another around an entry; return the id of the outermost."""
        tree = self.tree([entry])
        for name in reversed(names):
            tree = self.tree([TreeEntry(_FOLDER, name, tree)])
        return tree

    def commit_tree(
        self,
        tree: str,
        parents: Sequence[str] = (),
        message: str = "change",
        *,
        author: Person = ALICE,
        branch: str = "main",
        sign: Signer | None = None,
    ) -> str:
        """Commit a tree as it is, let the branch be it, and return its id."""
        who = f"{author} {self._tick()} +0000"
        parent_lines = "".join(f"parent {each}\n" for each in parents)
        text = f"tree {tree}\n{parent_lines}author {who}\ncommitter {who}\n\n{message}\n".encode()
        made = self.write("commit", _signed(text, sign) if sign else text)
        self.force_branch(branch, made)
        return made

    def write(self, kind: str, content: bytes) -> str:
        """Write a loose object without looking at it and return its id."""
        whole = f"{kind} {len(content)}\0".encode() + content
        id = hashlib.new(self.hash_name, whole).hexdigest()
        path = self.path / "objects" / id[:2] / id[2:]
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(zlib.compress(whole, 1))
        return id

    def git(
        self, *words: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None
    ) -> bytes:
        """Run git here and return what it printed."""
        done = subprocess.run(
            [git_program(), *words],
            cwd=self.path,
            env={**clean_environment(self.path), **(environment or {})},
            input=stdin,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, f"git {' '.join(words)}: {done.stderr.decode()}"
        return done.stdout

    def _import(
        self,
        changes: Iterable[bytes],
        message: str,
        author: Person,
        branch: str,
        sign: Signer | None,
    ) -> str:
        parent = self.head(branch)
        stream = [
            f"commit refs/heads/{branch}\nmark :1\n".encode(),
            f"committer {author} {self._tick()} +0000\n".encode(),
            _data(message.encode()),
            f"from {parent}\n".encode() if parent else b"",
            *changes,
            b"\nget-mark :1\ndone\n",
        ]
        made = self.git("fast-import", "--quiet", "--done", "--force", stdin=b"".join(stream))
        commit = made.decode().strip()
        if sign:
            commit = self.write("commit", _signed(self.git("cat-file", "commit", commit), sign))
            self.force_branch(branch, commit)
        return commit

    def _tick(self) -> int:
        self._moment += 60
        return self._moment


def git_program() -> str:
    """Return the path of git."""
    found = shutil.which("git")
    assert found, "git is not installed"
    return found


def _change(path: str, content: Content) -> bytes:
    where = _quoted(path)
    match content:
        case None:
            return b"D %s\n" % where
        case Submodule(commit):
            return b"M 160000 %s %s\n" % (commit.encode(), where)
        case Stored(id):
            return b"M 100644 %s %s\n" % (id.encode(), where)
        case Symlink(target):
            return b"M 120000 inline %s\n" % where + _data(target.encode())
        case Executable(text):
            return b"M 100755 inline %s\n" % where + _data(text.encode())
        case str():
            return b"M 100644 inline %s\n" % where + _data(content.encode())
        case bytes():
            return b"M 100644 inline %s\n" % where + _data(content)


def _pieces(head: bytes, zeros: int) -> Iterator[bytes]:
    yield head
    piece = bytes(1 << 20)
    for start in range(0, zeros, len(piece)):
        yield piece[: zeros - start]


def _data(content: bytes) -> bytes:
    return b"data %d\n" % len(content) + content + b"\n"


def _quoted(path: str) -> bytes:
    raw = os.fsencode(path)
    return b'"' + raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'


def _signed(commit: bytes, sign: Signer) -> bytes:
    """Put a signature into a commit as git does: the last header, its lines indented."""
    head, _, body = commit.partition(b"\n\n")
    signature = sign.sign(commit).strip().replace(b"\n", b"\n ")
    return head + b"\ngpgsig " + signature + b"\n\n" + body
