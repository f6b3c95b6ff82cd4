"""
Objects by their ids, from a git that stays: starting one for each file would be most of the time.
"""

import contextlib
import threading
from collections.abc import Collection, Iterator
from typing import IO

from kro_gitops.errors import RefusedError
from kro_gitops.source.fetch.process import kill
from kro_gitops.source.fetch.repository import Damaged, Repository


def read_objects(
    repository: Repository, ids: Collection[str], most: int, seconds: float
) -> Iterator[tuple[str, str, bytes]]:
    """
    Yield id, type and content of each object; what is missing is left out.

    All ids are written by a thread of their own: one question and one answer at a time would
    spend most of the time waiting, and writing all before reading would block on full pipes.
    """
    git = repository.reader()
    stdin, stdout = git.stdin, git.stdout
    assert stdin is not None
    assert stdout is not None
    question = "".join(f"{id}\n" for id in ids).encode("ascii")

    def ask() -> None:
        with contextlib.suppress(OSError, ValueError):  # it died: the reader below notices
            stdin.write(question)
            stdin.flush()

    writer = threading.Thread(target=ask, daemon=True)
    clock = threading.Timer(seconds, kill, (git,))
    clock.daemon = True
    clock.start()
    writer.start()
    finished = False
    try:
        for id in ids:
            answer = _answer(stdout, id, most)
            if answer is not None:
                yield answer
        finished = True
    finally:
        clock.cancel()
        if not finished:
            kill(git)  # answers nobody waits for are still to come
        writer.join()
        if not finished:
            repository.close()


def _answer(stdout: IO[bytes], id: str, most: int) -> tuple[str, str, bytes] | None:
    header = stdout.readline().split()
    if len(header) == 2 and header[1] == b"missing":
        return None
    if len(header) != 3 or header[0] != id.encode():
        raise Damaged
    size = int(header[2])
    if size > most:
        raise RefusedError(
            "git-file-too-large",
            f"the object {id[:12]} has {size} bytes; at most {most} are read",
            hint="split it",
        )
    content = stdout.read(size + 1)
    if len(content) != size + 1:
        raise Damaged
    return id, header[1].decode("ascii"), content[:-1]
