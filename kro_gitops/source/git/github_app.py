"""
A GitHub App's key → a token that reads its repositories for an hour.

The app authenticates with a short-lived JSON Web Token, which PyJWT signs, and requests a token of
one installation: named by its number, or looked up by its owner. Tokens are cached until shortly
before they expire, so polling asks GitHub once an hour.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import jwt

from kro_gitops.errors import Unavailable, UserError
from kro_gitops.source.git.credentials import Credentials, GitHubApp, Proxy
from kro_gitops.source.git.json_api import Answer, JsonApi
from kro_gitops.source.git.types import FetchRules

_PUBLIC = "https://api.github.com"
_USER = "x-access-token"
_MARGIN = timedelta(minutes=5)  # a token must outlive the fetch it is used for
_SKEW = timedelta(minutes=1)  # our clock may be ahead of GitHub's
_PROOF = timedelta(minutes=9)  # GitHub takes ten at most
_CHECK_APP = "check 'githubAppID' and 'githubAppPrivateKey' of the Secret, and this machine's clock"
_CHECK_INSTALLATION = "check that the app is installed there, and on this repository"


@dataclass(frozen=True, slots=True)
class _Token:
    value: str = field(repr=False)
    expires: datetime


class AppTokens:
    """Caches the tokens of apps; its methods block, and may be called from several threads."""

    def __init__(
        self,
        rules: FetchRules,
        *,
        timeout: float = 30.0,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._rules = rules
        self._timeout = timeout
        self._now = now
        self._tokens: dict[GitHubApp, _Token] = {}
        self._lock = threading.Lock()
        self._doors: dict[GitHubApp, tuple[threading.Lock, int]] = {}

    def login(self, credentials: Credentials, proxy: Proxy | None = None) -> Credentials:
        """
        Return credentials with a username and password for an app.

        The app stays in them: the mirror is named after it, not after a token of an hour.
        """
        app = credentials.app
        if app is None:
            return credentials
        # Two sources of one app ask once; no source waits for the server of another app.
        with self._asking(app):
            with self._lock:
                found = self._tokens.get(app)
            now = self._now()
            if found is None or found.expires - _MARGIN <= now:
                found = self._ask(app, credentials, proxy)
                with self._lock:
                    lasting = {
                        each: kept for each, kept in self._tokens.items() if kept.expires > now
                    }
                    self._tokens = {**lasting, app: found}
        return replace(credentials, username=_USER, password=found.value)

    def forget(self, credentials: Credentials) -> None:
        """Drop a token that was not accepted: it may have been revoked."""
        if credentials.app is not None:
            with self._lock:
                self._tokens.pop(credentials.app, None)

    @contextmanager
    def _asking(self, app: GitHubApp) -> Iterator[None]:
        """Hold the lock of one app; the lock is dropped when no login waits for it."""
        with self._lock:
            lock, waiting = self._doors.get(app, (threading.Lock(), 0))
            self._doors[app] = (lock, waiting + 1)
        try:
            with lock:
                yield
        finally:
            with self._lock:
                _, waiting = self._doors.pop(app)
                if waiting > 1:
                    self._doors[app] = (lock, waiting - 1)

    def _ask(self, app: GitHubApp, credentials: Credentials, proxy: Proxy | None) -> _Token:
        # The operator's list of hosts is about what users name; GitHub's own API is our choice.
        rules = self._rules if app.base_url else replace(self._rules, allowed_hosts=())
        now = self._now()
        claims = {"iat": now - _SKEW, "exp": now + _PROOF, "iss": app.app_id}
        try:
            proof = jwt.encode(claims, app.private_key, algorithm="RS256")
        except (jwt.exceptions.PyJWTError, ValueError, TypeError):
            raise UserError(
                "bad-credentials",
                "'githubAppPrivateKey' is no RSA key that can be read",
                hint="give the .pem file that GitHub made for the app",
            ) from None
        api = JsonApi(app.base_url or _PUBLIC, credentials, proxy, rules, self._timeout)
        installation = app.installation_id or _installation(api, app.installation_owner, proof)
        what = f"installation {installation}"
        answer = api.ask("POST", f"/app/installations/{installation}/access_tokens", proof)
        if answer.status != 201:
            raise _refused(answer, what)
        value, ends = answer.body.get("token"), None
        with suppress(ValueError):
            ends = datetime.fromisoformat(str(answer.body.get("expires_at"))).astimezone(UTC)
        is_token = isinstance(value, str) and value.isascii() and value.isprintable()
        if ends is None or not is_token:
            raise Unavailable("github-app-failed", f"GitHub gave no token for {what}")
        return _Token(str(value), ends)


def _installation(api: JsonApi, owner: str, proof: str) -> str:
    """Look up the number of an owner's installation; an owner is an organization or a user."""
    name = quote(owner, safe="")
    answer = api.ask("GET", f"/orgs/{name}/installation", proof)
    if answer.status == 404:
        answer = api.ask("GET", f"/users/{name}/installation", proof)
    found = answer.body.get("id")
    if answer.status == 200 and isinstance(found, int):
        return str(found)
    raise _refused(answer, f"the installation of '{owner}'")


def _refused(answer: Answer, what: str) -> Unavailable:
    if answer.is_rate_limited:
        return Unavailable("github-app-rate-limited", "GitHub asks us to come back later")
    said = f": {answer.message}" if answer.message else ""
    if answer.status == 401:
        summary = f"GitHub did not accept the app{said}"
        return Unavailable("github-app-refused", summary, hint=_CHECK_APP)
    if answer.status in (403, 404, 422):
        summary = f"GitHub gave no token for {what}{said}"
        return Unavailable("github-app-refused", summary, hint=_CHECK_INSTALLATION)
    return Unavailable("github-app-failed", f"GitHub answered {answer.status} for {what}{said}")
