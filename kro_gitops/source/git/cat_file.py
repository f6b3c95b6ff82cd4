"""
Reads objects by their ids from a git process that stays.

Starting one process for each file would take most of the time of a reconcile.
"""

import contextlib
import threading
from collections.abc import Collection, Iterator
from typing import IO

from kro_gitops.source.git.process import kill
from kro_gitops.source.git.repository import Damaged, Repository
from kube_objects.errors import RefusedError

_PIPE = 4096  # bytes that a pipe takes at once, wherever we run


def read_objects(
    repository: Repository, ids: Collection[str], most: int, seconds: float
) -> Iterator[tuple[str, str, bytes]]:
    """Yield id, type and content of each object; what is missing is left out."""
    with _asked(repository, "contents", ids, seconds) as stdout:
        for id in ids:
            header = _header(stdout, id)
            if header is None:
                continue
            kind, size = header
            if size > most:
                raise RefusedError(
                    "git-file-too-large",
                    f"the object {id[:12]} has {size} bytes; at most {most} are read",
                    hint="split it",
                )
            content = stdout.read(size + 1)
            if len(content) != size + 1:
                raise Damaged
            yield id, kind, content[:-1]


def read_sizes(repository: Repository, ids: Collection[str], seconds: float) -> dict[str, int]:
    """Give the sizes of objects; those that are missing are left out."""
    with _asked(repository, "info", ids, seconds) as stdout:
        headers = {id: _header(stdout, id) for id in ids}
    return {id: header[1] for id, header in headers.items() if header is not None}


@contextlib.contextmanager
def _asked(
    repository: Repository, verb: str, ids: Collection[str], seconds: float
) -> Iterator[IO[bytes]]:
    """
    Ask about objects; all answers must be read, or git is ended.

    Many ids are written by a thread of their own: one question and one answer at a time would
    spend most of the time waiting, and writing all before reading would block on full pipes.
    """
    git = repository.reader()
    stdin, stdout = git.stdin, git.stdout
    assert stdin is not None
    assert stdout is not None
    question = "".join(f"{verb} {id}\n" for id in ids).encode("ascii")

    def ask() -> None:
        with contextlib.suppress(OSError, ValueError):  # git died: the reader below notices
            stdin.write(question)
            stdin.flush()

    writer = threading.Thread(target=ask, daemon=True) if len(question) > _PIPE else None
    clock = threading.Timer(seconds, kill, (git,))
    clock.daemon = True
    clock.start()
    finished = False
    try:
        if writer is not None:
            writer.start()
        else:
            ask()
        yield stdout
        finished = True
    finally:
        clock.cancel()
        if not finished:
            kill(git)  # the rest of its answers would be taken for the next ones
        if writer is not None:
            writer.join()
        if not finished:
            repository.close()


def _header(stdout: IO[bytes], id: str) -> tuple[str, int] | None:
    """Read type and size of an object; `None` if it is missing."""
    header = stdout.readline().split()
    if len(header) == 2 and header[1] == b"missing":
        return None
    if len(header) != 3 or header[0] != id.encode():
        raise Damaged
    return header[1].decode("ascii"), int(header[2])
