"""
Files that only their owner may read or write: keys, the administrator's token, the kubeconfig.

Who can put a file into the folder of a cluster can choose its token or its keys, and so be its
administrator. So a start accepts only a folder and files that belong to the user it runs as or to
root, who can do everything anyway, and that no other user may change. Files are also rejected if
others can read them, because then the secret is out.
"""

import os
import stat
from pathlib import Path

from kube_objects.errors import InvalidError

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OTHERS_USE = stat.S_IRWXG | stat.S_IRWXO


def ensure_private_folder(path: Path) -> None:
    """Create a folder, or raise `InvalidError` if another user may have put something into it."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.stat()
    _check_owner(path, found)
    if found.st_mode & stat.S_IWOTH:
        raise _unusable(path, "any user may write to it", "name another one, or `chmod 700` it")
    if found.st_mode & stat.S_IWGRP and found.st_uid == os.geteuid():
        # Where the umask is 002, every folder is made like this.
        path.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS_WRITE)


def check_private(path: Path, *, readable: bool = False) -> None:
    """
    Raise `InvalidError` if a file is there that another user could have written.

    Nor may others be able to read it, unless it is `readable`.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode):
        raise _unusable(path, "it is no regular file", "remove it")
    _check_owner(path, found)
    if found.st_size and found.st_mode & (_OTHERS_WRITE if readable else _OTHERS_USE):
        why = f"other users may {'write' if readable else 'read or write'} it"
        raise _unusable(path, why, "`chmod 600` it if you trust them, or remove it")


def write_private(path: Path, content: bytes) -> None:
    """Replace a file as a whole, whatever it was; only its owner can read it."""
    draft = path.with_suffix(path.suffix + ".new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    draft.replace(path)


def _check_owner(path: Path, found: os.stat_result) -> None:
    user = os.geteuid()
    if found.st_uid not in (user, 0):
        why = f"it belongs to the user with id {found.st_uid}, and this process runs as {user}"
        raise _unusable(path, why, "name a folder of your own")


def _unusable(path: Path, why: str, remedy: str) -> InvalidError:
    # The remedy is part of the message, because the process that started this one reads no more.
    return InvalidError("folder-unusable", f"'{path}' cannot be used: {why}; {remedy}")
