"""
Paths as people write them: `~` is a home.
"""

from pathlib import Path, PurePath

from kro_gitops.errors import UserError


def expand_home(path: PurePath) -> Path:
    """Return where a path leads, or say that it begins at a home that nobody has."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        text = f"'{path}' cannot be used: there is no such home"
        raise UserError("folder-unusable", text, hint="write the path from its root") from error
