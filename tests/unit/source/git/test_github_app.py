"""A real HTTPS server plays GitHub, with a certificate of an authority made for this file."""

import base64
import ipaddress
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from kro_gitops.errors import KroGitopsError, Unavailable, UserError
from kro_gitops.source.git.credentials import Credentials, GitHubApp, Proxy
from kro_gitops.source.git.github_app import AppTokens
from kro_gitops.source.git.types import FetchRules, Remote
from kube_objects.errors import RefusedError

START = datetime(2026, 1, 1, tzinfo=UTC)
PRIVATE = FetchRules(allow_private_networks=True)
CONNECT_LINES = list[str]


@dataclass
class Clock:
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __call__(self) -> datetime:
        return self.now


@dataclass(frozen=True)
class Authority:
    ca: bytes
    certificate: Path


def pem(key: Any) -> bytes:
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
    result: bytes = key.private_bytes(encoding, form, serialization.NoEncryption())
    return result


@pytest.fixture(scope="module")
def app_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
    now = datetime.now(UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate = made.public_bytes(serialization.Encoding.PEM)
    file = tmp_path_factory.mktemp("ca") / "server.pem"
    file.write_bytes(pem(key) + certificate)
    return Authority(certificate, file)


@dataclass
class GitHub:
    """What the server is asked, and what it answers."""

    url: str = ""
    port: int = 0
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    answers: dict[tuple[str, str], tuple[int, dict[str, Any]]] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    drips: bool = False

    def gives(self, token: str, expires: datetime, installation: str = "4") -> None:
        body = {"token": token, "expires_at": expires.strftime("%Y-%m-%dT%H:%M:%SZ")}
        path = f"/api/v3/app/installations/{installation}/access_tokens"
        self.answers["POST", path] = (201, body)


def handler(github: GitHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            github.asked.append((self.command, self.path, self.headers.get("Authorization", "")))
            status, body = github.answers.get(
                (self.command, self.path), (404, {"message": "Not Found"})
            )
            content = json.dumps(body).encode()
            self.send_response(status)
            for name, value in github.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if github.drips:
                self.drip(content)
            else:
                self.wfile.write(content)

        def drip(self, content: bytes) -> None:
            try:
                for byte in content:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    time.sleep(0.2)
            except OSError:
                github.drips = False

        do_GET = do_POST = answer  # noqa: N815 - the library's names

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@pytest.fixture
def github(authority: Authority) -> Iterator[GitHub]:
    found = GitHub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(found))
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients hang up here
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.certificate)
    # Greet in the thread of each client: one that says nothing must not stop the server.
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    found.port = server.server_address[1]
    found.url = f"https://localhost:{found.port}/api/v3"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def credentials(github: GitHub, authority: Authority, app_key: rsa.RSAPrivateKey) -> Credentials:
    app = GitHubApp("17", pem(app_key), installation_id="4", base_url=github.url)
    return Credentials(ca=authority.ca, app=app)


def owned(credentials: Credentials, owner: str) -> Credentials:
    assert credentials.app is not None
    app = replace(credentials.app, installation_id="", installation_owner=owner)
    return replace(credentials, app=app)


def failure(call: Callable[[], object]) -> KroGitopsError:
    with pytest.raises(KroGitopsError) as failed:
        call()
    return failed.value


def test_an_app_gets_a_token_that_serves_as_password(
    github: GitHub, credentials: Credentials, app_key: rsa.RSAPrivateKey
) -> None:
    clock = Clock()
    github.gives("ghs_abc", clock.now + timedelta(hours=1))
    found = AppTokens(PRIVATE, now=clock).login(credentials)
    assert (found.username, found.password) == ("x-access-token", "ghs_abc")
    assert "ghs_abc" not in repr(found)
    ((method, path, bearer),) = github.asked
    assert (method, path) == ("POST", "/api/v3/app/installations/4/access_tokens")
    claims = jwt.decode(bearer.removeprefix("Bearer "), app_key.public_key(), algorithms=["RS256"])
    assert claims["iss"] == "17"
    assert claims["exp"] - claims["iat"] <= 600
    assert claims["iat"] < clock.now.timestamp()


def test_the_mirror_stays_the_same_with_a_new_token(
    github: GitHub, credentials: Credentials
) -> None:
    clock = Clock()
    github.gives("first", clock.now + timedelta(hours=1))
    found = AppTokens(PRIVATE, now=clock).login(credentials)
    url = "https://github.com/o/r"
    assert Remote(url, found).identity == Remote(url, credentials).identity


def test_a_token_is_kept_until_shortly_before_it_ends(
    github: GitHub, credentials: Credentials
) -> None:
    clock = Clock()
    tokens = AppTokens(PRIVATE, now=clock)
    github.gives("first", clock.now + timedelta(hours=1))
    assert tokens.login(credentials).password == "first"
    clock.now += timedelta(minutes=54)
    assert tokens.login(credentials).password == "first"
    assert len(github.asked) == 1
    clock.now += timedelta(minutes=2)
    github.gives("second", clock.now + timedelta(hours=1))
    assert tokens.login(credentials).password == "second"


def test_a_token_that_was_not_accepted_can_be_dropped(
    github: GitHub, credentials: Credentials
) -> None:
    clock = Clock()
    tokens = AppTokens(PRIVATE, now=clock)
    github.gives("first", clock.now + timedelta(hours=1))
    used = tokens.login(credentials)
    github.gives("second", clock.now + timedelta(hours=1))
    tokens.forget(used)
    tokens.forget(credentials)
    assert tokens.login(credentials).password == "second"


def test_many_sources_of_one_app_ask_once(github: GitHub, credentials: Credentials) -> None:
    clock = Clock()
    tokens = AppTokens(PRIVATE, now=clock)
    github.gives("one", clock.now + timedelta(hours=1))
    threads = [threading.Thread(target=tokens.login, args=(credentials,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(github.asked) == 1


@pytest.mark.parametrize("kind", ["orgs", "users"])
def test_an_installation_is_found_by_its_owner(
    github: GitHub, credentials: Credentials, kind: str
) -> None:
    clock = Clock()
    github.answers["GET", f"/api/v3/{kind}/my-org/installation"] = (200, {"id": 99})
    github.gives("ghs_abc", clock.now + timedelta(hours=1), "99")
    found = AppTokens(PRIVATE, now=clock).login(owned(credentials, "my-org"))
    assert found.password == "ghs_abc"


def test_an_owner_is_a_name_and_no_path(github: GitHub, credentials: Credentials) -> None:
    failure(lambda: AppTokens(PRIVATE).login(owned(credentials, "../../x?y")))
    assert [path for _, path, _ in github.asked] == [
        "/api/v3/orgs/..%2F..%2Fx%3Fy/installation",
        "/api/v3/users/..%2F..%2Fx%3Fy/installation",
    ]


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (401, "github-app-refused", "did not accept the app: A JSON web token"),
        (403, "github-app-refused", "no token for installation 4"),
        (404, "github-app-refused", "no token for installation 4"),
        (429, "github-app-rate-limited", "come back later"),
        (500, "github-app-failed", "answered 500"),
        (200, "github-app-failed", "answered 200"),
    ],
)
def test_what_github_refuses_is_told_apart(
    github: GitHub, credentials: Credentials, status: int, code: str, said: str
) -> None:
    path = "/api/v3/app/installations/4/access_tokens"
    github.answers["POST", path] = (status, {"message": "A JSON web token could not be decoded"})
    failed = failure(lambda: AppTokens(PRIVATE).login(credentials))
    assert isinstance(failed, Unavailable)
    assert failed.code == code
    assert said in failed.message


def test_a_used_up_rate_is_told_from_a_refusal(github: GitHub, credentials: Credentials) -> None:
    github.answers["POST", "/api/v3/app/installations/4/access_tokens"] = (403, {})
    github.headers["X-RateLimit-Remaining"] = "0"
    assert failure(lambda: AppTokens(PRIVATE).login(credentials)).code == "github-app-rate-limited"


@pytest.mark.parametrize(
    "body", [{}, {"token": 5}, {"token": "a\nb"}, {"token": "x", "expires_at": "y"}]
)
def test_an_answer_without_a_token_is_none(
    github: GitHub, credentials: Credentials, body: dict[str, Any]
) -> None:
    complete = {"expires_at": "2099-01-01T00:00:00Z", **body}
    github.answers["POST", "/api/v3/app/installations/4/access_tokens"] = (201, complete)
    assert failure(lambda: AppTokens(PRIVATE).login(credentials)).code == "github-app-failed"


def test_redirects_are_not_followed(github: GitHub, credentials: Credentials) -> None:
    github.answers["POST", "/api/v3/app/installations/4/access_tokens"] = (302, {})
    github.headers["Location"] = f"{github.url}/elsewhere"
    failed = failure(lambda: AppTokens(PRIVATE).login(credentials))
    assert (type(failed), failed.code) == (RefusedError, "api-redirected")
    assert len(github.asked) == 1


def test_private_addresses_are_refused_unless_allowed(
    github: GitHub, credentials: Credentials
) -> None:
    assert failure(lambda: AppTokens(FetchRules()).login(credentials)).code == "private-network"
    assert github.asked == []


def test_the_operators_hosts_bind_what_users_name(credentials: Credentials) -> None:
    rules = replace(PRIVATE, allowed_hosts=("github.com",))
    assert failure(lambda: AppTokens(rules).login(credentials)).code == "host-not-allowed"


def test_an_authority_that_is_not_known_is_not_trusted(
    github: GitHub, credentials: Credentials
) -> None:
    failed = failure(lambda: AppTokens(PRIVATE).login(replace(credentials, ca=b"")))
    assert failed.code == "api-tls-failed"
    assert "ca.crt" in failed.hint
    assert github.asked == []


def test_a_certificate_for_another_name_is_not_trusted(
    github: GitHub, credentials: Credentials
) -> None:
    assert credentials.app is not None
    url = f"https://127.0.0.2:{github.port}"
    other = replace(credentials, app=replace(credentials.app, base_url=url))
    failed = failure(lambda: AppTokens(PRIVATE).login(other))
    assert failed.code in ("api-tls-failed", "api-unreachable")
    assert github.asked == []


def test_a_server_that_drips_is_left_in_time(github: GitHub, credentials: Credentials) -> None:
    github.gives("x" * 100, START + timedelta(days=9999))
    github.drips = True
    started = time.monotonic()
    failed = failure(lambda: AppTokens(PRIVATE, timeout=0.7).login(credentials))
    assert failed.code in ("api-unreachable", "github-app-failed")
    assert time.monotonic() - started < 5


def test_a_server_that_drips_keeps_no_other_app_waiting(
    github: GitHub, credentials: Credentials
) -> None:
    github.gives("good", START + timedelta(days=9999))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert credentials.app is not None
        base = f"https://localhost:{silent.getsockname()[1]}"
        slow = replace(credentials, app=replace(credentials.app, base_url=base))
        tokens = AppTokens(PRIVATE, timeout=4.0)
        waiting = threading.Thread(target=lambda: failure(lambda: tokens.login(slow)))
        waiting.start()
        line, _ = silent.accept()  # it is being asked by now
        with line:
            started = time.monotonic()
            assert tokens.login(credentials).password == "good"
            assert time.monotonic() - started < 2
            waiting.join()


def test_a_server_that_is_gone(credentials: Credentials) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert credentials.app is not None
    app = replace(credentials.app, base_url=f"https://localhost:{port}")
    failed = failure(lambda: AppTokens(PRIVATE).login(replace(credentials, app=app)))
    assert (type(failed), failed.code) == (Unavailable, "api-unreachable")


def test_a_key_that_is_none_is_told_without_showing_it(credentials: Credentials) -> None:
    assert credentials.app is not None
    key = b"-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----\n"
    broken = replace(credentials, app=replace(credentials.app, private_key=key))
    failed = failure(lambda: AppTokens(PRIVATE).login(broken))
    assert (type(failed), failed.code) == (UserError, "bad-credentials")
    assert "hunter2" not in failed.message


def test_other_credentials_stay_as_they_are() -> None:
    found = Credentials("me", "p")
    assert AppTokens(PRIVATE).login(found) is found


@pytest.fixture
def proxy(github: GitHub) -> Iterator[tuple[Proxy, CONNECT_LINES]]:
    """A proxy that knows one command: CONNECT."""
    seen: CONNECT_LINES = []
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        try:
            client, _ = listening.accept()
        except OSError:
            return
        with client:
            request = b""
            while b"\r\n\r\n" not in request:
                request += client.recv(4096)
            seen.extend(request.decode().split("\r\n"))
            with socket.create_connection(("127.0.0.1", github.port)) as server:
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                back = threading.Thread(target=pump, args=(server, client))
                back.start()
                pump(client, server)
                back.join()

    thread = threading.Thread(target=serve)
    thread.start()
    port = listening.getsockname()[1]
    yield Proxy(f"http://localhost:{port}", "me", "hunter2"), seen
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    thread.join()


def pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while chunk := source.recv(65536):
            target.sendall(chunk)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def test_the_way_may_lead_through_a_proxy(
    github: GitHub, credentials: Credentials, proxy: tuple[Proxy, CONNECT_LINES]
) -> None:
    clock = Clock()
    github.gives("ghs_abc", clock.now + timedelta(hours=1))
    assert credentials.app is not None
    app = replace(credentials.app, base_url=github.url.replace("localhost", "127.0.0.1"))
    way, seen = proxy
    found = AppTokens(PRIVATE, now=clock).login(replace(credentials, app=app), way)
    assert found.password == "ghs_abc"
    assert seen[0].startswith(f"CONNECT 127.0.0.1:{github.port} ")
    login = base64.b64encode(b"me:hunter2").decode()
    assert f"Proxy-Authorization: Basic {login}" in seen


def test_other_kinds_of_proxies_are_refused(credentials: Credentials) -> None:
    way = Proxy("socks5://localhost:1080")
    assert failure(lambda: AppTokens(PRIVATE).login(credentials, way)).code == "proxy-not-for-app"
