"""
A git server over SSH: the real sshd, one process a connection, as inetd would start it.

The test's own thread listens, on a port of 127.0.0.1 that the system chose, and hands each
connection to `sshd -i`. So no port is guessed, no daemon can be left behind, and the server can
go away and come back. The login is the user who runs the tests; a forced command lets it read
repositories below the root and nothing else.
"""

import getpass
import os
import shlex
import shutil
import socket
import socketserver
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.child_processes import end
from tests.git_keys import SshKey, ssh_key
from tests.git_repositories import git_program

_PLACES = ("/usr/sbin", "/usr/local/sbin", "/sbin", "/opt/homebrew/sbin")
_SEPARATION = Path("/run/sshd")  # sshd wants it to be there if it runs as root

_FORCED = """\
#!/bin/sh
repository=${{SSH_ORIGINAL_COMMAND#"git-upload-pack '/"}}
case "$repository" in
"$SSH_ORIGINAL_COMMAND" | *..* | *"'"*"'"*) echo "this key may only fetch" >&2; exit 1 ;;
esac
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
exec {git} upload-pack --strict {root}/"${{repository%"'"}}"
"""

_CONFIGURATION = """\
HostKey {host_key}
AuthorizedKeysFile {authorized_keys}
AcceptEnv GIT_PROTOCOL
StrictModes no
UsePAM no
PidFile none
PermitRootLogin forced-commands-only
PasswordAuthentication no
KbdInteractiveAuthentication no
AuthenticationMethods publickey
LogLevel VERBOSE
"""


@dataclass(slots=True)
class SshServer:
    """A running server: the key that may log in, and the line that known_hosts needs."""

    folder: Path
    client_key: SshKey
    host_key: SshKey
    port: int = 0
    connections: int = 0
    _running: "_Listener | None" = None
    _open: threading.Event = field(default_factory=threading.Event)

    @property
    def user(self) -> str:
        return getpass.getuser()

    def url(self, name: str) -> str:
        """Return the URL of a repository below the root."""
        return f"ssh://{self.user}@127.0.0.1:{self.port}/{name}"

    @property
    def known_hosts(self) -> bytes:
        return self.known_host(self.host_key)

    def known_host(self, key: SshKey) -> bytes:
        """Return a line that says this server has a certain key."""
        kind, text = key.public.split()[:2]
        return f"[127.0.0.1]:{self.port} {kind} {text}\n".encode()

    @property
    def log(self) -> str:
        """Return what sshd wrote: why it refused somebody, say."""
        path = self.folder / "log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def welcome(self, key: SshKey) -> None:
        """Let one more key log in."""
        forced = f'command="{self.folder / "forced"}",restrict {key.public}\n'
        with (self.folder / "authorized_keys").open("a", encoding="ascii") as file:
            file.write(forced)

    def pause(self) -> None:
        """Take connections, and say nothing until `resume`."""
        self._open.clear()

    def resume(self) -> None:
        """Answer again."""
        self._open.set()

    def go_away(self) -> None:
        """Cut every connection and take no more of them."""
        if self._running:
            self._running.stop()
            self._running = None

    def come_back(self) -> None:
        """Serve at the same port as before."""
        if self._running is None:
            self._running = _Listener(self)
            self.port = self._running.server_address[1]
            threading.Thread(target=self._running.serve_forever, args=(0.02,), daemon=True).start()

    def serve(self, connection: socket.socket, running: "_Listener") -> None:
        """Give one connection to sshd until it ends."""
        self.connections += 1
        self._open.wait()
        config, log = str(self.folder / "config"), str(self.folder / "log")
        wire = connection.fileno()
        with subprocess.Popen(
            [sshd_program(), "-i", "-f", config, "-E", log],
            stdin=wire,
            stdout=wire,
            stderr=subprocess.DEVNULL,
        ) as process:
            running.processes.add(process.pid)
            process.wait()
            running.processes.discard(process.pid)


class _Listener(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, owner: SshServer) -> None:
        self.owner = owner
        self.processes: set[int] = set()
        self._sockets: set[socket.socket] = set()
        super().__init__(("127.0.0.1", owner.port), _Connection)

    def stop(self) -> None:
        self.shutdown()
        self.server_close()
        for connection in list(self._sockets):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for pid in list(self.processes):
            end(pid)

    def get_request(self) -> tuple[socket.socket, object]:
        connection, address = super().get_request()
        self._sockets.add(connection)
        return connection, address

    def shutdown_request(self, request: socket.socket | tuple[bytes, socket.socket]) -> None:
        assert isinstance(request, socket.socket)
        self._sockets.discard(request)
        super().shutdown_request(request)


class _Connection(socketserver.BaseRequestHandler):
    server: _Listener

    def handle(self) -> None:
        self.server.owner.serve(self.request, self.server)


def sshd_program() -> str:
    """Return the path of sshd, or end the test: in CI with a failure."""
    found = shutil.which("sshd", path=os.pathsep.join((os.environ.get("PATH", ""), *_PLACES)))
    if found:
        return found
    message = "nothing was fetched over SSH: sshd is not installed (openssh-server has it)"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


@contextmanager
def ssh_server(root: Path, folder: Path, keys: Sequence[SshKey] = ()) -> Iterator[SshServer]:
    """Serve the repositories below a root; `folder` is the server's own, and is made."""
    sshd_program()
    if os.geteuid() == 0:
        _SEPARATION.mkdir(mode=0o755, exist_ok=True)
    server = SshServer(folder, ssh_key(folder, "client"), ssh_key(folder, "host"))
    _write_settings(server, root)
    for key in (server.client_key, *keys):
        server.welcome(key)
    server.resume()
    server.come_back()
    try:
        yield server
    finally:
        server.go_away()
        server.resume()


def _write_settings(server: SshServer, root: Path) -> None:
    folder = server.folder
    forced = _FORCED.format(git=shlex.quote(git_program()), root=shlex.quote(str(root)))
    (folder / "forced").write_text(forced, encoding="utf-8")
    (folder / "forced").chmod(0o755)
    settings = _CONFIGURATION.format(
        host_key=server.host_key.path, authorized_keys=folder / "authorized_keys"
    )
    (folder / "config").write_text(settings, encoding="utf-8")
