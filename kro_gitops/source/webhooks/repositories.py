"""
Whether two URLs mean the same repository.

A repository has many URLs: over HTTPS and SSH, with and without `.git`, a user, a port. Each is
normalized to `host/path`, and whole texts are compared: nothing here becomes a pattern. A false
match costs one poll of a remote, a missing match loses a push until the next poll.
"""

from urllib.parse import unquote

_SSH_HOSTS = ("altssh.", "ssh.", "vs-ssh.")
_AZURE = "dev.azure.com"
_OLD_AZURE = ".visualstudio.com"


def normal_url(url: str) -> str:
    """Return `host/path` of a URL or of git's `user@host:path`; nothing if it is neither."""
    text = url.strip()
    scheme, separator, rest = text.partition("://")
    if separator and scheme.replace("+", "").isalnum():
        authority, _, path = rest.partition("/")
        host = _host(authority.rpartition("@")[2])[0]
    else:
        user, separator, rest = text.partition("@")
        host, path = _host(rest if separator and "/" not in user else text)
    for prefix in _SSH_HOSTS:
        if host.startswith(prefix):
            host = host.removeprefix(prefix)
            break
    steps = [step for step in unquote(path.partition("?")[0]).split("/") if step]
    if steps:
        steps[-1] = steps[-1].removesuffix(".git")
    host, steps = _azure(host, steps)
    return "/".join((host, *steps)) if host and any(steps) else ""


def same_repository(one: str, other: str) -> bool:
    """Return whether two URLs mean the same repository; forges ignore the case of paths."""
    normal = normal_url(one).casefold()
    return bool(normal) and normal == normal_url(other).casefold()


def _host(text: str) -> tuple[str, str]:
    """Split off a host, which may be an address in brackets, from a port or a path."""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
    else:
        end = min((at for at in (text.find(":"), text.find("/")) if at >= 0), default=len(text))
        host, rest = text[:end], text[end:]
    return host.lower().rstrip("."), rest.lstrip(":")


def _azure(host: str, steps: list[str]) -> tuple[str, list[str]]:
    """Normalize the many forms of Azure DevOps to `dev.azure.com/ORG/PROJECT/_git/REPOSITORY`."""
    if host == "visualstudio.com":  # was vs-ssh.visualstudio.com, whose paths are as the new ones
        host = _AZURE
    elif host.endswith(_OLD_AZURE):
        organisation = host.removesuffix(_OLD_AZURE)
        without = steps[1:] if steps[:1] == ["DefaultCollection"] else steps
        host, steps = _AZURE, [organisation, *without]
    if host != _AZURE:
        return host, steps
    match steps:
        case ["v3", organisation, project, repository]:
            return host, [organisation, project, "_git", repository]
        case [organisation, "_git", repository]:  # named like its project
            return host, [organisation, repository, "_git", repository]
        case _:
            return host, steps
