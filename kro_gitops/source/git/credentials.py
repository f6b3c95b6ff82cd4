"""
A Secret's data → how to log in to a git server. The keys are Flux's, so that its Secrets work here.

None of these values may be printed: their `repr` leaves them out, and errors name the key alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from kro_gitops.errors import UserError
from kro_gitops.source.api.types import Provider


@dataclass(frozen=True, slots=True)
class SshLogin:
    """A key, and the trusted host keys; an unknown host key is never accepted."""

    identity: bytes = field(repr=False)
    known_hosts: bytes = field(repr=False)
    passphrase: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class GitHubApp:
    """An app, from whose key short-lived tokens are made; one of the installation fields is set."""

    app_id: str
    private_key: bytes = field(repr=False)
    installation_id: str = ""
    installation_owner: str = ""
    base_url: str = ""


@dataclass(frozen=True, slots=True)
class Credentials:
    """All that a Secret may hold; of username/password, bearer, app and ssh at most one is set."""

    username: str = ""
    password: str = field(default="", repr=False)
    bearer: str = field(default="", repr=False)
    ca: bytes = field(default=b"", repr=False)
    client_certificate: bytes = field(default=b"", repr=False)
    client_key: bytes = field(default=b"", repr=False)
    ssh: SshLogin | None = None
    app: GitHubApp | None = None


ANONYMOUS = Credentials()


@dataclass(frozen=True, slots=True)
class Proxy:
    """A way out: `http(s)://` or `socks5://` address, and who we are there."""

    address: str
    username: str = ""
    password: str = field(default="", repr=False)


_LOGIN_KEYS = ("username", "password", "bearerToken")
_APP_FIELDS = (
    "githubAppID",
    "githubAppInstallationID",
    "githubAppInstallationOwner",
    "githubAppBaseURL",
)
_APP_KEYS = (*_APP_FIELDS, "githubAppPrivateKey")
_PRIVATE_KEY = b"PRIVATE KEY-----"
_CERTIFICATE = b"-----BEGIN CERTIFICATE-----"
_PROXY_SCHEMES = ("http", "https", "socks5")


def parse_credentials(data: Mapping[str, bytes], url: str, provider: Provider) -> Credentials:
    """Read a Secret's data for a URL; what the URL's scheme has no use for is left out."""
    is_ssh = url.startswith("ssh://")
    if provider is Provider.GITHUB:
        if is_ssh:
            raise _wrong("provider 'github' logs in over https", "use the https:// URL")
        return _with_tls(Credentials(app=_app(data)), data)
    has_login = any(data.get(key) for key in (*_LOGIN_KEYS, "identity"))
    if any(data.get(key) for key in _APP_KEYS) and not has_login:
        raise _wrong("the secret holds a GitHub App", "set 'provider: github'")
    if is_ssh:
        return Credentials(ssh=_ssh(data))
    return _with_tls(_login(data), data)


def parse_proxy(data: Mapping[str, bytes]) -> Proxy:
    """Read the data of a proxy's Secret."""
    address = _text(data, "address", "bad-proxy")
    if not address:
        raise _wrong("the proxy's secret lacks 'address'", "http://HOST:PORT say", "bad-proxy")
    try:
        parts = urlsplit(address)
        host, has_login = parts.hostname, parts.username is not None
        _ = parts.port
    except ValueError:
        raise _wrong("the proxy's 'address' is no URL", "http://HOST:PORT", "bad-proxy") from None
    if parts.scheme not in _PROXY_SCHEMES or not host:
        schemes = ", ".join(f"{each}://" for each in _PROXY_SCHEMES)
        raise _wrong(f"the proxy's 'address' must begin with {schemes}", "", "bad-proxy")
    if has_login:
        hint = "move it to the keys 'username' and 'password'"
        raise _wrong("the proxy's 'address' holds a login", hint, "bad-proxy")
    username = _text(data, "username", "bad-proxy")
    password = _text(data, "password", "bad-proxy")
    if password and not username:
        raise _wrong("the proxy's secret holds 'password' without 'username'", "", "bad-proxy")
    return Proxy(address, username, password)


def _login(data: Mapping[str, bytes]) -> Credentials:
    """Read what https has use for; nothing at all is fine if there are certificates."""
    username, password, bearer = (_text(data, key) for key in _LOGIN_KEYS)
    if bearer and (username or password):
        raise _wrong("the secret holds both 'bearerToken' and a username or password", "keep one")
    if data.get("identity") and not (username or password or bearer):
        raise _wrong(
            "the secret holds an ssh key ('identity'), but the URL is https",
            "use the ssh:// URL, or give 'username' and 'password'",
        )
    if bool(username) != bool(password) and not data.get("identity"):
        have, lack = ("username", "password") if username else ("password", "username")
        hint = "a token goes into 'password'; most servers take any 'username' with it"
        raise _wrong(f"the secret holds '{have}' without '{lack}'", hint)
    if not (username or bearer or any(data.get(key) for key in ("ca.crt", "caFile", "tls.crt"))):
        raise _wrong(
            "the secret holds no key that is used for https",
            "give 'username' and 'password', 'bearerToken', 'ca.crt', or 'tls.crt' and 'tls.key'",
        )
    return Credentials(username, password, bearer)


def _ssh(data: Mapping[str, bytes]) -> SshLogin:
    if not data.get("identity"):
        if any(data.get(key) for key in _LOGIN_KEYS):
            raise _wrong(
                "the secret holds a login for https, but the URL is ssh",
                "use the https:// URL, or give 'identity' and 'known_hosts'",
            )
        raise _wrong("the secret lacks 'identity'", "give the private key")
    if _PRIVATE_KEY not in data["identity"]:
        raise _wrong("'identity' is no private key", "give the file ssh-keygen made, not its .pub")
    known_hosts = _lines(data.get("known_hosts", b""))
    if not any(line and not line.startswith(b"#") for line in known_hosts.split(b"\n")):
        raise _wrong(
            "the secret lacks 'known_hosts'",
            "give the server's host keys (ssh-keyscan HOST), after comparing them",
        )
    return SshLogin(_lines(data["identity"]), known_hosts, _text(data, "password"))


def _app(data: Mapping[str, bytes]) -> GitHubApp:
    app_id, installation, owner, base_url = (_text(data, key) for key in _APP_FIELDS)
    private_key = data.get("githubAppPrivateKey", b"")
    if not app_id:
        raise _wrong("the secret lacks 'githubAppID'", "it stands on the app's settings page")
    if bool(installation) == bool(owner):
        has = "both" if owner else "neither"
        raise _wrong(
            f"the secret holds {has} of 'githubAppInstallationID' and 'githubAppInstallationOwner'",
            "give one of them",
        )
    for key, number in (("githubAppID", app_id), ("githubAppInstallationID", installation)):
        if number and not (number.isascii() and number.isdecimal()):
            raise _wrong(f"'{key}' is no number", "")
    if _PRIVATE_KEY not in private_key:
        raise _wrong("the secret lacks 'githubAppPrivateKey'", "give the .pem file of the app")
    if base_url and not base_url.startswith("https://"):
        raise _wrong("'githubAppBaseURL' must begin with https://", "")
    return GitHubApp(app_id, _lines(private_key), installation, owner, base_url.rstrip("/"))


def _with_tls(credentials: Credentials, data: Mapping[str, bytes]) -> Credentials:
    ca_key = "ca.crt" if data.get("ca.crt") else "caFile"
    ca = data.get(ca_key, b"")
    if ca and _CERTIFICATE not in ca:
        raise _wrong(f"'{ca_key}' holds no certificate", "give it in PEM form")
    certificate, key = data.get("tls.crt", b""), data.get("tls.key", b"")
    if bool(certificate) != bool(key):
        have, lack = ("tls.crt", "tls.key") if certificate else ("tls.key", "tls.crt")
        raise _wrong(f"the secret holds '{have}' without '{lack}'", "a client needs both")
    if certificate and _CERTIFICATE not in certificate:
        raise _wrong("'tls.crt' holds no certificate", "give it in PEM form")
    if key and _PRIVATE_KEY not in key:
        raise _wrong("'tls.key' holds no private key", "give it in PEM form")
    return replace(credentials, ca=ca, client_certificate=certificate, client_key=key)


def _text(data: Mapping[str, bytes], key: str, code: str = "bad-credentials") -> str:
    """Return a value that is one line; the line feed that editors add is not part of it."""
    try:
        text = data.get(key, b"").decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise _wrong(f"'{key}' is not UTF-8", "is it encoded twice?", code) from None
    if any(ord(character) < 0x20 or character == "\x7f" for character in text):
        raise _wrong(f"'{key}' holds a line break or another control character", "", code)
    return text


def _lines(data: bytes) -> bytes:
    """Return a file as ssh needs it: line feeds only, and one at the end."""
    return data.replace(b"\r\n", b"\n").rstrip(b"\n") + b"\n"


def _wrong(message: str, hint: str, code: str = "bad-credentials") -> UserError:
    return UserError(code, message, hint=hint)
