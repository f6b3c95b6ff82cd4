"""
Credentials → what git and ssh need to log in, for as long as a command runs.

Nothing secret is an argument: arguments are in every list of processes. Passwords, tokens and the
proxy's login are configuration in the environment; keys and certificates are files that only we
can read, in a folder that is gone afterwards. A header is sent with the first request, so that a
login costs no extra round trip; nothing is asked, so that nothing can hang.

A key's passphrase is removed by ssh-keygen, which asks for it through a program of ours: the
`cryptography` library reads OpenSSH's encrypted keys only together with yet another library.
"""

import base64
import contextlib
import shlex
import stat
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit

from kro_gitops.source.api.url_policy import Address
from kro_gitops.source.git.credentials import Credentials
from kro_gitops.source.git.locks import own_folder
from kro_gitops.source.git.resolve import Pin
from kro_gitops.source.git.types import Remote
from kube_objects.errors import RefusedError

_ASK = '#!/bin/sh\ncat "$KG_PASSPHRASE_FILE"\n'
_KEYGEN_SECONDS = 30

_SSH_OPTIONS = (
    *("StrictHostKeyChecking=yes", "GlobalKnownHostsFile=/dev/null", "UpdateHostKeys=no"),
    *("CheckHostIP=no", "IdentitiesOnly=yes", "IdentityAgent=none", "BatchMode=yes"),
    *("PreferredAuthentications=publickey", "PasswordAuthentication=no"),
    *("KbdInteractiveAuthentication=no", "PermitLocalCommand=no", "ProxyCommand=none"),
    *("ControlMaster=no", "ControlPath=none", "ClearAllForwardings=yes", "ForwardAgent=no"),
    *("RequestTTY=no", "LogLevel=ERROR"),
)


@dataclass(frozen=True, slots=True)
class Login:
    """What a command gets besides, and the words that must not be shown."""

    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    configuration: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    secrets: tuple[str | bytes, ...] = field(default=(), repr=False)


@contextlib.contextmanager
def login(remote: Remote, address: Address, pins: tuple[Pin, ...], path: str) -> Iterator[Login]:
    """Give all that a command needs to log in; its files are gone when the command is done."""
    with own_folder("kro-gitops-login-") as folder:
        if address.scheme == "file":
            # Let git serve a folder of another owner: the operator named it, and it may be a
            # volume. The serving side gets none of our configuration but reads this file; hooks
            # are not served.
            trusted = _private_file(folder / "config", b"[safe]\n\tdirectory = *\n")
            yield Login({"GIT_CONFIG_GLOBAL": str(trusted)})
        elif address.scheme == "ssh":
            yield _ssh(remote, address, pins[0], folder, path)
        else:
            yield _http(remote, address, pins, folder)


def _http(remote: Remote, address: Address, pins: tuple[Pin, ...], folder: Path) -> Login:
    credentials = remote.credentials
    found: dict[str, str] = {}
    asked: dict[str, str] = {}
    header = _header(credentials)
    if header:
        # For this server alone, though git follows to no other anyway.
        host = f"[{address.host}]" if ":" in address.host else address.host
        found[f"http.{address.scheme}://{host}:{address.port}/.extraHeader"] = header
        # Rejected, git asks for a name and tries again; with any answer it then passes on what
        # the server says, and the header is sent all the same.
        asked["GIT_ASKPASS"] = "echo"
    files = {
        "http.sslCAInfo": credentials.ca,
        "http.sslCert": credentials.client_certificate,
        "http.sslKey": credentials.client_key,
    }
    for key, content in files.items():
        if content:
            found[key] = str(_private_file(folder / key, content))
    proxy = remote.proxy
    if proxy is not None:
        parts = urlsplit(proxy.address)
        user = ""
        if proxy.username or proxy.password:
            user = f"{quote(proxy.username, safe='')}:{quote(proxy.password, safe='')}@"
        found["http.proxy"] = f"{parts.scheme}://{user}{parts.netloc}"
    names = (each for each in pins if not each.is_literal)
    resolve = (("http.curloptResolve", each.for_curl()) for each in names)
    return Login(asked, (*found.items(), *resolve), _secrets(remote))


def _header(credentials: Credentials) -> str:
    if credentials.bearer:
        token = credentials.bearer.strip()
        if not (token.isprintable() and token.isascii()):
            raise RefusedError(
                "bad-credentials",
                "the bearer token holds characters that no header may hold",
                hint="store the token alone in the Secret, without line breaks",
            )
        return f"Authorization: Bearer {token}"
    if credentials.username or credentials.password:
        pair = f"{credentials.username}:{credentials.password}".encode()
        return f"Authorization: Basic {base64.b64encode(pair).decode()}"
    return ""


def _ssh(remote: Remote, address: Address, pin: Pin, folder: Path, path: str) -> Login:
    ssh = remote.credentials.ssh
    if ssh is None or not ssh.known_hosts.strip():
        missing = "no key is given" if ssh is None else "no known host keys are given"
        raise RefusedError(
            "ssh-login-missing",
            f"the URL is ssh://, and {missing}",
            hint="put 'identity' and 'known_hosts' into a Secret and name it in 'secretRef'",
        )
    key = ssh.identity.replace(b"\r\n", b"\n").strip() + b"\n"  # ssh needs the last line's end
    identity = _private_file(folder / "identity", key)
    if ssh.passphrase:
        _remove_passphrase(identity, ssh.passphrase, folder, path)
    hosts = _private_file(folder / "known_hosts", ssh.known_hosts)
    known_as = address.host if address.port == 22 else f"[{address.host}]:{address.port}"
    options = (
        *_SSH_OPTIONS,
        f'UserKnownHostsFile="{hosts}"',
        f'IdentityFile="{identity}"',
        f"HostName={pin.addresses[0]}",
        f"HostKeyAlias={known_as}",
        f"ConnectTimeout={max(1, int(remote.timeout))}",
        *(() if address.user else ("User=git",)),
    )
    # Git hands this to a shell, so all of it is quoted.
    command = ["ssh", "-F", "/dev/null", *(word for each in options for word in ("-o", each))]
    return Login({"GIT_SSH_COMMAND": shlex.join(command)}, (), _secrets(remote))


def _remove_passphrase(identity: Path, passphrase: str, folder: Path, path: str) -> None:
    secret = _private_file(folder / "passphrase", passphrase.encode() + b"\n")
    ask = _private_file(folder / "ask", _ASK.encode())
    ask.chmod(stat.S_IRWXU)
    environment = {
        "PATH": path,
        "LC_ALL": "C",
        "SSH_ASKPASS": str(ask),
        "SSH_ASKPASS_REQUIRE": "force",
        "KG_PASSPHRASE_FILE": str(secret),
    }
    done = subprocess.run(
        ["ssh-keygen", "-q", "-p", "-N", "", "-f", str(identity)],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_KEYGEN_SECONDS,
        start_new_session=True,
        check=False,
    )
    secret.unlink()
    if done.returncode != 0:
        raise RefusedError(
            "ssh-key-unreadable",
            "the ssh key does not open with the passphrase given",
            hint="check 'identity' and 'password' of the Secret",
        )


def _private_file(file: Path, content: bytes) -> Path:
    file.touch(stat.S_IRUSR | stat.S_IWUSR, exist_ok=False)
    file.write_bytes(content)
    return file


def _secrets(remote: Remote) -> tuple[str | bytes, ...]:
    credentials, proxy = remote.credentials, remote.proxy
    ssh, app = credentials.ssh, credentials.app
    found: list[str | bytes] = [credentials.password, credentials.bearer, credentials.client_key]
    found.append(_header(credentials).rpartition(" ")[2])
    if ssh is not None:
        found += [ssh.identity, ssh.passphrase]
    if app is not None:
        found.append(app.private_key)
    if proxy is not None:
        found.append(proxy.password)
    return tuple(filter(None, found))
