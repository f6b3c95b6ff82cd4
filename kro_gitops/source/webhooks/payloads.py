"""
Parses the body of a webhook call: which refs of which repository.

The call is authenticated, but its content may still be anything. orjson parses it, because it
limits the depth, rejects what is no UTF-8, and raises nothing but its one error.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from kro_gitops.source.api.types import Forge
from kube_objects.errors import RefusedError

MOST_REFS = 1_000  # a push of more is about any ref

_Fields = dict[str, Any]

_HUB_URLS = ("clone_url", "html_url", "ssh_url", "git_url")
_HUB_REQUESTS = ("pull_request", "pull_request_sync")
_GITLAB_URLS = ("git_http_url", "git_ssh_url", "web_url", "homepage")
_GITLAB_EVENTS = {  # as headers say it, and as bodies do
    "Push Hook": "push",
    "Tag Push Hook": "tag_push",
    "Merge Request Hook": "merge_request",
}
_GITLAB_PUSHES = ("push", "tag_push", "repository_update")
_AZURE_URLS = ("remoteUrl", "sshUrl", "webUrl")
_SERVER_PUSHES = ("repo:refs_changed", "mirror:repo_synchronized")
_CLOUD_REFS = {"tag": "refs/tags/", "annotated_tag": "refs/tags/"}


@dataclass(frozen=True, slots=True)
class Payload:
    """The content of a body; `event` and `delivery` only where the headers lack them."""

    is_push: bool = False
    refs: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    event: str = ""
    delivery: str = ""


def read_payload(forge: Forge, event: str, body: bytes) -> Payload:
    """Parse the body of an authenticated call; raise if it is not what its forge sends."""
    reader = _READERS.get(forge)
    if reader is None:
        return Payload(is_push=True)
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise _bad("the body is no JSON") from None  # its error would quote the body
    if not isinstance(document, dict):
        raise _bad("the body is no JSON object")
    return reader(event, document)


def _hub(event: str, document: _Fields) -> Payload:
    """Read what GitHub sends, and Gitea, Forgejo and Gogs after it."""
    if event == "push":
        urls = _texts(_needed(document, "repository"), _HUB_URLS)
        return Payload(True, _distinct([_text(document, "ref")]), urls)
    if event in _HUB_REQUESTS:
        number = _number(document, "number")
        refs = (f"refs/pull/{number}/head", f"refs/pull/{number}/merge")
        return Payload(False, refs, _texts(_needed(document, "repository"), _HUB_URLS))
    return Payload()


def _gitlab(event: str, document: _Fields) -> Payload:
    named = _text(document, "event_name") or _text(document, "object_kind")
    kind = _GITLAB_EVENTS.get(event, named if event == "System Hook" else "")
    if kind in _GITLAB_PUSHES:
        several = _list(document, "refs")
        if not all(isinstance(each, str) for each in several):
            raise _bad("'refs' holds something else than texts")
        refs = _distinct([_text(document, "ref"), *several])
        return Payload(True, refs, _texts(_needed(document, "project"), _GITLAB_URLS))
    if kind == "merge_request":
        number = _number(_object(document, "object_attributes"), "iid")
        refs = (f"refs/merge-requests/{number}/head", f"refs/merge-requests/{number}/merge")
        return Payload(False, refs, _texts(_needed(document, "project"), _GITLAB_URLS))
    return Payload()


def _bitbucket(event: str, document: _Fields) -> Payload:
    if event != "repo:push":  # there are no refs for pull requests
        return Payload()
    repository = _needed(document, "repository")
    page = _text(_object(_object(repository, "links"), "html"), "href")
    name = _text(repository, "full_name")
    urls = _distinct([page, f"https://bitbucket.org/{name}" if name else ""])
    changes = _objects(_object(document, "push"), "changes")
    refs = []
    for end in (_object(change, name) for change in changes for name in ("new", "old")):
        branch = _text(end, "name")
        prefix = _CLOUD_REFS.get(_text(end, "type"), "refs/heads/")
        refs.append(prefix + branch if branch else "")
    return Payload(True, _distinct(refs), urls)


def _bitbucket_server(event: str, document: _Fields) -> Payload:
    if event in _SERVER_PUSHES:
        changes = _objects(document, "changes")
        refs = [_text(each, "refId") or _text(_object(each, "ref"), "id") for each in changes]
        return Payload(True, _distinct(refs), _clone_urls(_needed(document, "repository")))
    if event.startswith("pr:"):
        request = _needed(document, "pullRequest")
        refs = [f"refs/pull-requests/{_number(request, 'id')}/{end}" for end in ("from", "merge")]
        return Payload(
            False, tuple(refs), _clone_urls(_object(_object(request, "toRef"), "repository"))
        )
    return Payload()


def _clone_urls(repository: _Fields) -> tuple[str, ...]:
    """Return the URLs to clone from; older servers name none."""
    links = _objects(_object(repository, "links"), "clone")
    return _distinct(_text(link, "href") for link in links)


def _azure(_event: str, document: _Fields) -> Payload:
    event, delivery = _text(document, "eventType"), _text(document, "id")
    if event == "git.push":
        resource = _needed(document, "resource")
        refs = _distinct(_text(each, "name") for each in _objects(resource, "refUpdates"))
        urls = _texts(_needed(resource, "repository"), _AZURE_URLS)
        return Payload(True, refs, urls, event, delivery)
    if event.startswith("git.pullrequest."):
        resource = _needed(document, "resource")
        refs = (f"refs/pull/{_number(resource, 'pullRequestId')}/merge",)
        urls = _texts(_needed(resource, "repository"), _AZURE_URLS)
        return Payload(False, refs, urls, event, delivery)
    return Payload(event=event, delivery=delivery)


# The body of any other forge is not parsed: each call counts as a push.
_READERS: Mapping[Forge, Callable[[str, _Fields], Payload]] = {
    Forge.GITHUB: _hub,
    Forge.GITEA: _hub,
    Forge.GITLAB: _gitlab,
    Forge.BITBUCKET: _bitbucket,
    Forge.BITBUCKET_SERVER: _bitbucket_server,
    Forge.AZURE: _azure,
}


def _needed(fields: _Fields, name: str) -> _Fields:
    if name not in fields:
        raise _bad(f"the body names no '{name}'")
    return _object(fields, name)


def _object(fields: _Fields, name: str) -> _Fields:
    """Return an object; forges write `null` for one that is not there."""
    value = fields.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _bad(f"'{name}' is no object")
    return value


def _objects(fields: _Fields, name: str) -> list[_Fields]:
    values = _list(fields, name)
    if not all(isinstance(value, dict) for value in values):
        raise _bad(f"'{name}' holds something else than objects")
    return values


def _list(fields: _Fields, name: str) -> list[Any]:
    value = fields.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise _bad(f"'{name}' is no list")
    return value if len(value) <= MOST_REFS else []


def _text(fields: _Fields, name: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _bad(f"'{name}' is no text")
    return value


def _number(fields: _Fields, name: str) -> int:
    value = fields.get(name)
    if type(value) is not int:  # `true` is one, too, to Python
        raise _bad(f"'{name}' is no number")
    return value


def _texts(fields: _Fields, names: Iterable[str]) -> tuple[str, ...]:
    return _distinct(_text(fields, name) for name in names)


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))


def _bad(what: str) -> RefusedError:
    return RefusedError(
        "hook-bad-payload", what, hint="let the forge send its own, unchanged JSON payload"
    )
