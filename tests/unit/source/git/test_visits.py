"""Servers that are slow, point elsewhere or refuse; what is left of a visit; who sees secrets."""

import base64
import contextlib
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kro_gitops.errors import KroGitopsError, Unavailable
from kro_gitops.source.git.credentials import ANONYMOUS, Credentials, Proxy, SshLogin
from kro_gitops.source.git.mirror import Mirror, Mirrors
from kro_gitops.source.git.revisions import Chosen
from kro_gitops.source.git.types import FetchRules, Remote
from kube_objects.errors import RefusedError

RULES = FetchRules(allow_private_networks=True, allow_plain_http=True)
SECRET = "t0p-s3cret-w0rd"


@contextlib.contextmanager
def silent_server() -> Iterator[int]:
    """Accept connections and never say a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held: list[socket.socket] = []

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    held.append(server.accept()[0])

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
        for each in held:
            each.close()


@contextlib.contextmanager
def answering(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[int]:
    """Answer each request as told."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def mirror_of(tmp_path: Path, remote: Remote, rules: FetchRules = RULES) -> Mirror:
    return Mirrors(tmp_path / "mirrors", rules).of(remote)


def command_lines() -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            line = (process / "cmdline").read_bytes().replace(b"\0", b" ")
            found.append(line.decode("utf-8", "replace"))
    return found


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    file = tmp_path_factory.mktemp("key") / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(file)], check=True)
    return file.read_bytes()


@pytest.mark.parametrize("scheme", ["http", "ssh"])
def test_a_silent_server_costs_the_timeout_and_leaves_no_process(
    tmp_path: Path, key: bytes, scheme: str
) -> None:
    login = SshLogin(key, b"127.0.0.1 ssh-ed25519 AAAA\n")
    credentials = Credentials(ssh=login) if scheme == "ssh" else ANONYMOUS
    with silent_server() as port:
        url = f"{scheme}://127.0.0.1:{port}/repo"
        mirror = mirror_of(tmp_path, Remote(url, credentials, timeout=1.5))
        for visit in (lambda: mirror.ask(["HEAD"]), lambda: mirror.fetch(Chosen("", "1" * 40))):
            began = time.monotonic()
            with pytest.raises(Unavailable) as caught:
                visit()
            assert caught.value.code == "git-timeout"
            assert time.monotonic() - began < 10
        assert not [line for line in command_lines() if str(port) in line and "git" in line]


def test_no_argument_of_any_process_holds_a_secret(tmp_path: Path) -> None:
    remote = Credentials("ada", SECRET, client_key=SECRET.encode())
    seen: list[str] = []
    with silent_server() as port, silent_server() as proxy:
        for each in (
            Remote(f"http://127.0.0.1:{port}/repo", remote, timeout=2),
            Remote(f"http://127.0.0.1:{port}/repo", Credentials(bearer=SECRET), timeout=2),
            Remote(
                f"http://127.0.0.1:{port}/repo",
                proxy=Proxy(f"http://127.0.0.1:{proxy}", "ada", SECRET),
                timeout=2,
            ),
        ):
            mirror = mirror_of(tmp_path, each)
            visit = threading.Thread(target=lambda m=mirror: _failing(m))
            visit.start()
            while visit.is_alive():
                seen += command_lines()
                time.sleep(0.05)
            visit.join()
    ours = [line for line in seen if f":{port}/repo" in line]
    encoded = base64.b64encode(f"ada:{SECRET}".encode()).decode()
    assert ours
    assert not [line for line in seen if SECRET in line or encoded in line]


def _failing(mirror: Mirror) -> None:
    with contextlib.suppress(KroGitopsError):
        mirror.ask(["HEAD"])


@pytest.mark.parametrize(
    ("credentials", "header"),
    [
        (Credentials("ada", "pass"), "Basic " + base64.b64encode(b"ada:pass").decode()),
        (Credentials(bearer="token"), "Bearer token"),
        (ANONYMOUS, None),
    ],
)
def test_a_login_is_sent_with_the_first_request(
    tmp_path: Path, credentials: Credentials, header: str | None
) -> None:
    sent: list[str | None] = []

    def answer(request: BaseHTTPRequestHandler) -> None:
        sent.append(request.headers.get("Authorization"))
        request.send_error(500)

    with answering(answer) as port:
        mirror = mirror_of(tmp_path, Remote(f"http://localhost:{port}/repo", credentials))
        with pytest.raises(Unavailable) as caught:
            mirror.ask(["HEAD"])
    assert caught.value.code == "git-server-failed"
    assert sent == [header]


def test_a_refused_login_is_told_in_the_servers_words_without_the_secret(tmp_path: Path) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        header = request.headers.get("Authorization", "")
        body = f"Ada is locked out. You sent {header} and {SECRET}.".encode()
        request.send_response(401)
        request.send_header("WWW-Authenticate", 'Basic realm="x"')
        request.send_header("Content-Type", "text/plain")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    with answering(answer) as port:
        remote = Remote(f"http://localhost:{port}/repo", Credentials("ada", SECRET))
        with pytest.raises(Unavailable) as caught:
            mirror_of(tmp_path, remote).ask(["HEAD"])
    assert caught.value.code == "git-auth-failed"
    assert "Ada is locked out" in caught.value.message
    encoded = base64.b64encode(f"ada:{SECRET}".encode()).decode()
    assert SECRET not in caught.value.message
    assert encoded not in caught.value.message


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_server_that_points_elsewhere_is_named_and_not_followed(
    tmp_path: Path, status: int
) -> None:
    followed: list[str] = []

    def elsewhere(request: BaseHTTPRequestHandler) -> None:
        followed.append(request.path)
        request.send_error(404)

    with answering(elsewhere) as target:
        place = f"http://ada:{SECRET}@localhost:{target}/moved"

        def answer(request: BaseHTTPRequestHandler) -> None:
            request.send_response(status)
            request.send_header("Location", f"{place}/info/refs?service=git-upload-pack")
            request.send_header("Content-Length", "0")
            request.end_headers()

        with answering(answer) as port:
            mirror = mirror_of(tmp_path, Remote(f"http://localhost:{port}/repo"))
            with pytest.raises(RefusedError) as caught:
                mirror.ask(["HEAD"])
    assert caught.value.code == "git-redirected"
    assert f"localhost:{target}/moved" in caught.value.message
    assert SECRET not in caught.value.message
    assert followed == []


def test_a_name_is_looked_up_once_and_git_uses_that_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    lookup = socket.getaddrinfo

    def pretend(host: str, port: int, **options: object) -> object:
        asked.append(host)
        return lookup("127.0.0.1", port, type=socket.SOCK_STREAM)

    hosts: list[str | None] = []

    def answer(request: BaseHTTPRequestHandler) -> None:
        hosts.append(request.headers.get("Host"))
        request.send_error(500)

    with answering(answer) as port:
        monkeypatch.setattr(socket, "getaddrinfo", pretend)
        # No resolver knows this name: only the pinned address leads anywhere.
        mirror = mirror_of(tmp_path, Remote(f"http://pinned.invalid:{port}/repo"))
        with pytest.raises(Unavailable) as caught:
            mirror.ask(["HEAD"])
        monkeypatch.undo()
    assert caught.value.code == "git-server-failed"
    assert asked == ["pinned.invalid"]
    assert hosts == [f"pinned.invalid:{port}"]


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://127.0.0.1:{closed}/repo", "git-connection-failed"),
        ("https://127.0.0.1:{plain}/repo", "git-tls-failed"),
        ("http://127.0.0.1:{plain}/repo", "git-repository-not-found"),
        ("http://nowhere.invalid/repo", "git-host-unknown"),
    ],
)
def test_each_failure_has_its_code_and_says_what_to_do(tmp_path: Path, url: str, code: str) -> None:
    with answering(lambda request: request.send_error(404)) as plain:
        url = url.format(closed=closed_port(), plain=plain)
        with pytest.raises(Unavailable) as caught:
            mirror_of(tmp_path, Remote(url)).ask(["HEAD"])
    assert caught.value.code == code
    assert caught.value.hint


def test_ssh_without_known_hosts_is_refused(tmp_path: Path, key: bytes) -> None:
    for credentials in (ANONYMOUS, Credentials(ssh=SshLogin(key, b" \n"))):
        mirror = mirror_of(tmp_path, Remote("ssh://git@127.0.0.1/repo", credentials))
        with pytest.raises(RefusedError) as caught:
            mirror.ask(["HEAD"])
        assert caught.value.code == "ssh-login-missing"
