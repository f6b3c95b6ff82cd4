"""
The folder of `--repo`: checked before anything starts, so that a mistake is one line and not a
source that never becomes ready.
"""

import re
import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

from kro_gitops.errors import UserError
from kro_gitops.local.files import expand_home

_SCP_FORM = re.compile(r"(?:([\w.-]+)@)?([\w.-]+):(.+)")  # as in git@github.com:acme/shop.git
_URL_FORMS = "a URL begins with https:// or ssh://"


def repository_url(text: str) -> str:
    """Return the URL of a repository; a folder gets a file:// URL."""
    return text if "://" in text else expand_home(Path(text)).resolve().as_uri()


def check_repository(text: str) -> None:
    """Raise `UserError` unless the text is a URL of a remote, or the root of a repository here."""
    url = repository_url(text)
    if not url.startswith("file://"):
        return
    folder = Path(unquote(urlsplit(url).path))
    # As git does: `shop` also names `shop.git`.
    if _is_repository(folder) or _is_repository(folder.with_name(f"{folder.name}.git")):
        return
    around = next(filter(_is_repository, folder.parents), None)
    if not folder.exists():
        remote = _SCP_FORM.fullmatch(text)
        hint = f"name the root folder of a git repository; {_URL_FORMS}"
        if remote and "://" not in text:
            login, host, path = remote.groups()
            hint = f"for a remote, write ssh://{login or 'git'}@{host}/{path.lstrip('/')}"
        raise UserError("no-such-repository", f"--repo: there is no folder '{folder}'", hint=hint)
    if around is not None:
        path = folder.relative_to(around)
        raise UserError(
            "not-the-repository-root",
            f"--repo: '{folder}' is a {'folder' if folder.is_dir() else 'file'} in the git "
            f"repository '{around}', not its root",
            hint=f"use {shlex.join(('--repo', str(around), '--path', str(path)))}",
        )
    if not folder.is_dir():
        text = f"--repo: '{folder}' is a file, not a git repository"
        raise UserError("not-a-repository", text, hint=f"name a folder; {_URL_FORMS}")
    raise UserError(
        "not-a-repository",
        f"--repo: '{folder}' is not a git repository",
        hint="create one: `git init`, `git add .` and `git commit` in this folder",
    )


def _is_repository(folder: Path) -> bool:
    """Return whether a folder is the root of a work tree, or a bare repository."""
    try:
        is_bare = (folder / "HEAD").is_file() and (folder / "objects").is_dir()
        return is_bare or (folder / ".git").exists()
    except OSError:  # it may not be read: git will say why
        return True
