"""Logins: in private files and variables, gone afterwards."""

import shlex
import subprocess
from pathlib import Path

import pytest

from kro_gitops.source.api.url_policy import Address
from kro_gitops.source.git.auth import Login, login
from kro_gitops.source.git.credentials import Credentials, Proxy, SshLogin
from kro_gitops.source.git.process import search_path
from kro_gitops.source.git.resolve import Pin
from kro_gitops.source.git.types import Remote
from kube_objects.errors import RefusedError

HTTPS = Address("https", "host.example", 443, "/repo")
PINS = (Pin("host.example", 443, ("93.184.216.34",)),)


def ssh_key(folder: Path, passphrase: str, *options: str) -> bytes:
    file = folder / "id"
    arguments = ("-q", "-t", "rsa", "-b", "2048", *options, "-N", passphrase, "-f", str(file))
    subprocess.run(["ssh-keygen", *arguments], check=True)
    return file.read_bytes()


def ssh_options(how: Login) -> dict[str, str]:
    words = shlex.split(how.environment["GIT_SSH_COMMAND"])
    assert words[:3] == ["ssh", "-F", "/dev/null"]
    pairs = [word.split("=", 1) for word in words[4::2]]
    return {name: value.strip('"') for name, value in pairs}


def test_certificates_are_private_files_that_are_gone_afterwards() -> None:
    credentials = Credentials(ca=b"authority", client_certificate=b"mine", client_key=b"secret")
    with login(Remote("u", credentials), HTTPS, PINS, search_path()) as how:
        found = dict(how.configuration)
        files = {name: Path(value) for name, value in found.items() if name.startswith("http.ssl")}
        assert {name: file.read_bytes() for name, file in files.items()} == {
            "http.sslCAInfo": b"authority",
            "http.sslCert": b"mine",
            "http.sslKey": b"secret",
        }
        for file in files.values():
            assert file.stat().st_mode & 0o077 == 0
            assert file.parent.stat().st_mode & 0o077 == 0
    assert not any(file.parent.exists() for file in files.values())


def test_a_header_is_for_the_one_server() -> None:
    remote = Remote("u", Credentials("ada", "pass"))
    with login(remote, HTTPS, PINS, search_path()) as how:
        found = dict(how.configuration)
    assert found["http.https://host.example:443/.extraHeader"].startswith("Authorization: Basic ")
    assert found["http.curloptResolve"] == "host.example:443:93.184.216.34"


def test_a_proxys_login_is_escaped_into_its_address() -> None:
    proxy = Proxy("http://proxy.example:3128", "a@b", "p:/ss")
    with login(Remote("u", proxy=proxy), HTTPS, PINS, search_path()) as how:
        found = dict(how.configuration)
    assert found["http.proxy"] == "http://a%40b:p%3A%2Fss@proxy.example:3128"


def test_a_token_cannot_smuggle_a_second_header() -> None:
    remote = Remote("u", Credentials(bearer="token\r\nX-Evil: 1"))
    with (
        pytest.raises(RefusedError) as caught,
        login(remote, HTTPS, PINS, search_path()),
    ):
        pass
    assert caught.value.code == "bad-credentials"
    assert "X-Evil" not in caught.value.message


@pytest.mark.parametrize("form", [(), ("-m", "PEM")], ids=["OpenSSH's form", "PEM"])
@pytest.mark.parametrize("passphrase", ["", "open sesame"])
def test_ssh_gets_a_key_it_can_read(tmp_path: Path, passphrase: str, form: tuple[str, ...]) -> None:
    identity = ssh_key(tmp_path, passphrase, *form).replace(b"\n", b"\r\n").rstrip()
    ssh = SshLogin(identity, b"host.example ssh-ed25519 AAAA\n", passphrase)
    address = Address("ssh", "host.example", 22, "/repo", "git")
    with login(Remote("u", Credentials(ssh=ssh)), address, PINS, search_path()) as how:
        options = ssh_options(how)
        file = Path(options["IdentityFile"])
        assert file.stat().st_mode & 0o077 == 0
        shown = subprocess.run(
            ["ssh-keygen", "-y", "-P", "", "-f", str(file)], capture_output=True, check=True
        )
        assert shown.stdout.split()[1] == (tmp_path / "id.pub").read_bytes().split()[1]
        folder = {each.name for each in file.parent.iterdir()}
        assert "passphrase" not in folder
        assert passphrase == "" or passphrase not in how.environment["GIT_SSH_COMMAND"]
    assert not file.parent.exists()


def test_a_wrong_passphrase_is_told_without_it(tmp_path: Path) -> None:
    ssh = SshLogin(ssh_key(tmp_path, "open sesame"), b"host k\n", "guess-word")
    address = Address("ssh", "host.example", 22, "/repo", "git")
    with (
        pytest.raises(RefusedError) as caught,
        login(Remote("u", Credentials(ssh=ssh)), address, PINS, search_path()),
    ):
        pass
    assert caught.value.code == "ssh-key-unreadable"
    assert "guess-word" not in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    ("port", "user", "alias"),
    [(22, "git", "host.example"), (2222, "", "[host.example]:2222")],
)
def test_ssh_is_strict_and_goes_to_the_pinned_address(port: int, user: str, alias: str) -> None:
    ssh = SshLogin(b"key", b"host.example ssh-ed25519 AAAA\n")
    address = Address("ssh", "host.example", port, "/repo", user)
    with login(Remote("u", Credentials(ssh=ssh)), address, PINS, search_path()) as how:
        options = ssh_options(how)
        assert Path(options["UserKnownHostsFile"]).read_bytes() == ssh.known_hosts
    assert options.items() >= {
        ("StrictHostKeyChecking", "yes"),
        ("IdentitiesOnly", "yes"),
        ("BatchMode", "yes"),
        ("GlobalKnownHostsFile", "/dev/null"),
        ("HostName", "93.184.216.34"),
        ("HostKeyAlias", alias),
    }
    assert options.get("User") == (None if user else "git")


def test_a_login_does_not_show_itself() -> None:
    remote = Remote("u", Credentials("ada", "s3cret-word", client_key=b"s3cret-word"))
    with login(remote, HTTPS, PINS, search_path()) as how:
        assert "s3cret" not in repr(how)
        assert "s3cret" not in repr(remote)
