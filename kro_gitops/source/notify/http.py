"""
Posts a body to an address from a Secret.

The address is often the only secret (Slack's and Teams' are), so no error repeats more of it than
the host. `allowed_hosts` is about git servers and does not apply here; the rule about private
networks does.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kro_gitops.errors import Unavailable, UserError
from kro_gitops.source.api.url_policy import Address, check_url
from kro_gitops.source.git.credentials import Credentials
from kro_gitops.source.git.http import GuardedHttp
from kro_gitops.source.git.types import FetchRules
from kube_objects.errors import RefusedError

_QUERY = re.compile(r"[!-~]*")
_LONGEST_PAUSE = 60.0  # seconds that a server may have us wait
_USE_ADDRESS = "write https://HOST/PATH, as the receiver gave it to you"


@dataclass(frozen=True, slots=True)
class Target:
    """Where to, and what to sign with."""

    address: Address = field(repr=False)
    query: str = field(repr=False)
    token: bytes = field(default=b"", repr=False)
    ca: bytes = field(default=b"", repr=False)

    @property
    def place(self) -> str:
        """Return the address whole; it is a secret."""
        at = self.address
        return f"{at.scheme}://{at.host}:{at.port}{at.path}?{self.query}"


class BusyError(Unavailable):
    """The receiver cannot take it now; `pause` is the delay that it asked for."""

    def __init__(self, message: str, pause: float) -> None:
        super().__init__("notification-failed", message)
        self.pause = pause


def parse_target(data: Mapping[str, bytes], rules: FetchRules) -> Target:
    """Read a Secret's `address`, `token` and `ca.crt`; no error repeats the address."""
    written = data.get("address", b"").decode("utf-8", "replace").strip()
    if not written:
        raise UserError("bad-secret", "the Secret has no 'address'", hint=_USE_ADDRESS)
    place, _, query = written.partition("?")
    if not _QUERY.fullmatch(query) or "#" in query:
        raise _refused("its query holds what does not belong into one")
    try:
        address = check_url(place, replace(rules, allowed_hosts=(), local_urls=frozenset()))
    except RefusedError as error:
        is_plain = place.startswith("http://") and not rules.allow_plain_http
        raise _refused("it is not encrypted" if is_plain else f"{error.code}") from None
    if address.scheme not in ("https", "http"):
        raise _refused("it is no https:// URL")
    return Target(address, query, data.get("token", b"").strip(), data.get("ca.crt", b""))


def post(
    target: Target, body: bytes, headers: Mapping[str, str], rules: FetchRules, timeout: float
) -> None:
    """Post once; raise `Unavailable` where another try may help, and `UserError` where not."""
    http = GuardedHttp(target.address, rules, timeout, credentials=Credentials(ca=target.ca))
    path = f"{target.address.path}?{target.query}" if target.query else target.address.path
    reply, host = http.ask("POST", path, headers, body), target.address.host
    if 200 <= reply.status < 300:
        return
    if reply.status == 429 or reply.status >= 500:
        asked = reply.headers.get("Retry-After", "")
        pause = min(float(asked), _LONGEST_PAUSE) if asked.isdecimal() else 0.0
        raise BusyError(f"'{host}' answered {reply.status}", pause)
    if reply.is_redirect:
        raise UserError(
            "notification-refused",
            f"'{host}' points elsewhere, where we do not follow",
            hint="write the address it points to into the Secret",
        )
    raise UserError(
        "notification-refused",
        f"'{host}' answered {reply.status}",
        hint="check 'address' and 'token' of the Secret, and the type of the notification",
    )


def _refused(why: str) -> UserError:
    return UserError(
        "bad-address", f"'address' of the Secret is rejected: {why}", hint=_USE_ADDRESS
    )
