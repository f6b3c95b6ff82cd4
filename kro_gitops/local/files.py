"""Files and directories of the user: home directories, and files that only their owner may read."""

import os
from pathlib import Path, PurePath

from kro_gitops.errors import UserError


def write_private(path: Path, content: bytes) -> None:
    """Replace a file as a whole; the new one is readable by its owner only."""
    draft = path.with_suffix(path.suffix + ".new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    draft.replace(path)


def expand_home(path: PurePath) -> Path:
    """Expand a leading `~`; raise `UserError` if there is no such home directory."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        text = f"'{path}' cannot be used: there is no such home"
        raise UserError("folder-unusable", text, hint="write the path from its root") from error
