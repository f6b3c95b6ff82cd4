import pytest

from kro_gitops.errors import UserError
from kro_gitops.source.api.types import Provider
from kro_gitops.source.git.credentials import Credentials, parse_credentials, parse_proxy

HTTPS = "https://git.example/r"
SSH = "ssh://git@git.example/r"
KEY = b"-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0\n-----END OPENSSH PRIVATE KEY-----\n"
PEM = b"-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"
HOSTS = b"git.example ssh-ed25519 AAAA\n"
APP = {
    "githubAppID": b"17",
    "githubAppInstallationID": b"4",
    "githubAppPrivateKey": KEY,
}


def generic(data: dict[str, bytes], url: str = HTTPS) -> Credentials:
    return parse_credentials(data, url, Provider.GENERIC)


def failure(data: dict[str, bytes], url: str, provider: Provider) -> UserError:
    with pytest.raises(UserError) as failed:
        parse_credentials(data, url, provider)
    return failed.value


def test_username_and_password_without_the_line_feed_of_an_editor() -> None:
    found = generic({"username": b"me", "password": b"hunter2\n"})
    assert found == Credentials("me", "hunter2")


def test_a_bearer_token() -> None:
    assert generic({"bearerToken": b"hunter2"}) == Credentials(bearer="hunter2")


def test_certificates_with_and_without_a_login() -> None:
    found = generic({"ca.crt": PEM, "caFile": b"older", "tls.crt": PEM, "tls.key": KEY})
    assert found == Credentials(ca=PEM, client_certificate=PEM, client_key=KEY)
    login = generic({"username": b"me", "password": b"p", "caFile": PEM})
    assert login == Credentials("me", "p", ca=PEM)


def test_an_ssh_key_comes_as_ssh_wants_it() -> None:
    windows = KEY.replace(b"\n", b"\r\n").rstrip()
    data = {"identity": windows, "known_hosts": HOSTS.rstrip(), "password": b"open\n"}
    login = generic(data, SSH).ssh
    assert login is not None
    assert (login.identity, login.known_hosts, login.passphrase) == (KEY, HOSTS, "open")


def test_a_secret_for_both_ways_serves_the_url() -> None:
    data = {"identity": KEY, "known_hosts": HOSTS, "username": b"me", "password": b"p"}
    assert generic(data).username == "me"
    assert generic(data, SSH).ssh is not None
    assert generic(data, SSH).username == ""


def test_a_github_app() -> None:
    data = {**APP, "githubAppBaseURL": b"https://ghe.example/api/v3/", "ca.crt": PEM}
    found = parse_credentials(data, HTTPS, Provider.GITHUB)
    assert found.app is not None
    assert (found.app.app_id, found.app.installation_id) == ("17", "4")
    assert found.app.base_url == "https://ghe.example/api/v3"
    assert found.ca == PEM


def without(data: dict[str, bytes], *keys: str) -> dict[str, bytes]:
    return {key: value for key, value in data.items() if key not in keys}


@pytest.mark.parametrize(
    ("data", "url", "provider", "said"),
    [
        ({}, HTTPS, "generic", "no key that is used for https"),
        ({"token": b"hunter2"}, HTTPS, "generic", "no key that is used for https"),
        ({"username": b"hunter2"}, HTTPS, "generic", "'username' without 'password'"),
        ({"password": b"hunter2"}, HTTPS, "generic", "'password' without 'username'"),
        ({"bearerToken": b"hunter2", "username": b"u", "password": b"p"}, HTTPS, "generic", "both"),
        ({"tls.crt": PEM}, HTTPS, "generic", "'tls.crt' without 'tls.key'"),
        ({"tls.key": KEY, "ca.crt": PEM}, HTTPS, "generic", "'tls.key' without 'tls.crt'"),
        ({"ca.crt": b"hunter2"}, HTTPS, "generic", "'ca.crt' holds no certificate"),
        ({"tls.crt": PEM, "tls.key": b"hunter2"}, HTTPS, "generic", "'tls.key' holds no private"),
        ({"identity": KEY, "known_hosts": HOSTS}, HTTPS, "generic", "ssh key"),
        ({"username": b"u", "password": b"hunter2"}, SSH, "generic", "login for https"),
        ({"bearerToken": b"hunter2"}, SSH, "generic", "login for https"),
        ({"known_hosts": HOSTS}, SSH, "generic", "lacks 'identity'"),
        ({"identity": KEY}, SSH, "generic", "lacks 'known_hosts'"),
        ({"identity": KEY, "known_hosts": b"# none\n\n"}, SSH, "generic", "lacks 'known_hosts'"),
        (
            {"identity": b"ssh-ed25519 hunter2", "known_hosts": HOSTS},
            SSH,
            "generic",
            "'identity' is",
        ),
        (
            {"username": b"u", "password": b"hunter2\nx"},
            HTTPS,
            "generic",
            "'password' holds a line",
        ),
        ({"username": b"u", "password": b"\xff\xfe"}, HTTPS, "generic", "'password' is not UTF-8"),
        (APP, HTTPS, "generic", "GitHub App"),
        (APP, SSH, "github", "over https"),
        ({}, HTTPS, "github", "'githubAppID'"),
        (without(APP, "githubAppPrivateKey"), HTTPS, "github", "lacks 'githubAppPrivateKey'"),
        (without(APP, "githubAppInstallationID"), HTTPS, "github", "neither"),
        ({**APP, "githubAppInstallationOwner": b"org"}, HTTPS, "github", "both"),
        ({**APP, "githubAppID": b"hunter2"}, HTTPS, "github", "'githubAppID' is no number"),
        ({**APP, "githubAppBaseURL": b"http://hunter2"}, HTTPS, "github", "'githubAppBaseURL'"),
    ],
)
def test_what_is_missing_is_named_by_its_key_and_no_value_is_shown(
    data: dict[str, bytes], url: str, provider: str, said: str
) -> None:
    failed = failure(data, url, Provider(provider))
    assert failed.code == "bad-credentials"
    assert said in failed.message
    assert "hunter2" not in failed.message + failed.hint
    assert "c2VjcmV0" not in failed.message + failed.hint


def test_no_secret_is_in_the_representation() -> None:
    data = {"username": b"me", "password": b"hunter2", "tls.crt": PEM, "tls.key": KEY}
    assert "hunter2" not in repr(generic(data))
    assert "c2VjcmV0" not in repr(generic(data))
    assert "c2VjcmV0" not in repr(generic({"identity": KEY, "known_hosts": HOSTS}, SSH))
    assert "c2VjcmV0" not in repr(parse_credentials(APP, HTTPS, Provider.GITHUB))


def test_a_proxy() -> None:
    found = parse_proxy({"address": b"http://p.example:3128\n", "username": b"u", "password": b"p"})
    assert (found.address, found.username, found.password) == ("http://p.example:3128", "u", "p")
    assert "password" not in repr(found)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({}, "lacks 'address'"),
        ({"address": b"p.example:3128"}, "must begin with"),
        ({"address": b"ftp://p.example"}, "must begin with"),
        ({"address": b"http://"}, "must begin with"),
        ({"address": b"http://p.example:hunter2"}, "no URL"),
        ({"address": b"http://[p.example"}, "no URL"),
        ({"address": b"http://u:hunter2@p.example"}, "holds a login"),
        ({"address": b"http://p.example\nx"}, "control character"),
        ({"address": b"http://p.example", "password": b"hunter2"}, "without 'username'"),
    ],
)
def test_what_is_wrong_with_a_proxy_is_said(data: dict[str, bytes], said: str) -> None:
    with pytest.raises(UserError) as failed:
        parse_proxy(data)
    assert failed.value.code == "bad-proxy"
    assert said in failed.value.message
    assert "hunter2" not in failed.value.message + failed.value.hint
