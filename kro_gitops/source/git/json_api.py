"""
Requests JSON from an HTTPS API, with the same care as a git server.

The address is checked like a repository's; `GuardedHttp` connects.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kro_gitops.source.api.redaction import redact
from kro_gitops.source.api.url_policy import check_url
from kro_gitops.source.git.credentials import Credentials, Proxy
from kro_gitops.source.git.http import GuardedHttp
from kro_gitops.source.git.types import FetchRules
from kube_objects.errors import RefusedError

_MESSAGE = 300
_HEADERS = {
    "Accept": "application/vnd.github+json",
    "X-GitHub-Api-Version": "2022-11-28",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; the body may hold secrets, `message` is fit to be shown."""

    status: int
    body: Mapping[str, Any] = field(repr=False)
    message: str = ""
    is_rate_limited: bool = False


class JsonApi:
    """One API: where it is, and how to get there."""

    def __init__(
        self,
        base: str,
        credentials: Credentials,
        proxy: Proxy | None,
        rules: FetchRules,
        timeout: float,
    ) -> None:
        # The check wants a path, as repositories have one; `/app` stands for all below.
        address = check_url(f"{base}/app", rules)
        if address.scheme != "https":
            raise RefusedError("bad-url", "an API is asked over https:// only")
        if proxy is not None and not proxy.address.startswith("http://"):
            raise RefusedError(
                "proxy-not-for-app",
                "a GitHub App's tokens are asked for through http:// proxies only",
                hint="name an http:// proxy, or log in with a token instead of an app",
            )
        self._host = address.host
        self._prefix = address.path.removesuffix("/app")
        self._http = GuardedHttp(address, rules, timeout, credentials=credentials, proxy=proxy)

    def ask(self, method: str, path: str, bearer: str) -> Answer:
        """Ask once; raise `Unavailable` when there is no answer."""
        headers = {**_HEADERS, "Authorization": f"Bearer {bearer}"}
        reply = self._http.ask(method, self._prefix + path, headers)
        if reply.is_redirect:
            raise RefusedError(
                "api-redirected",
                f"the API at '{self._host}' points elsewhere, where we do not follow",
                hint="write the address it points to into 'githubAppBaseURL'",
            )
        try:
            body = json.loads(reply.content)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            body = {}
        is_limited = reply.status == 429 or reply.headers.get("x-ratelimit-remaining") == "0"
        said = "".join(each for each in str(body.get("message", "")) if each.isprintable())
        message = redact(said, [bearer], limit=_MESSAGE)
        return Answer(reply.status, body, message, is_limited and reply.status >= 400)
