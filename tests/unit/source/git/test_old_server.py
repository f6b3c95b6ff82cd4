"""A server of the old protocol, which hands out nothing by its id."""

import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kro_gitops.errors import UserError
from kro_gitops.source.git.mirror import Mirror, Mirrors
from kro_gitops.source.git.revisions import Chosen
from kro_gitops.source.git.types import FetchRules, Remote
from tests.unit.source.git.origins import Origin, branch


class _Backend(BaseHTTPRequestHandler):
    """Runs `git http-backend`, and keeps the wish for protocol 2 from it."""

    folder = Path()

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        variables = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
        }
        command = ["git", "http-backend"]
        done = subprocess.run(command, input=body, env=variables, capture_output=True, check=True)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def old_mirror(origin: Origin, tmp_path: Path) -> Iterator[Mirror]:
    handler = type("Handler", (_Backend,), {"folder": origin.folder.parent})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        rules = FetchRules(allow_private_networks=True, allow_plain_http=True)
        url = f"http://localhost:{server.server_address[1]}/{origin.folder.name}/.git"
        mirror = Mirrors(tmp_path / "old-mirrors", rules).of(Remote(url))
        yield mirror
        mirror.close()
        server.shutdown()
        thread.join()


def test_a_commit_is_looked_for_in_all_branches(origin: Origin, old_mirror: Mirror) -> None:
    origin.commit({"a": "0"})
    origin.git("checkout", "-q", "-b", "side")
    old = origin.commit({"a": "1"})
    origin.commit({"a": "2"})
    origin.git("checkout", "-q", "main")
    origin.commit({"a": "3"})
    old_mirror.fetch(Chosen("", old))
    (entry,) = old_mirror.tree(old)
    assert old_mirror.read([entry.id]) == {entry.id: b"1"}
    assert not (old_mirror.path / "refs" / "kg-heads").exists()


def test_a_commit_in_no_branch_is_the_authors_mistake(origin: Origin, old_mirror: Mirror) -> None:
    origin.commit({"a": "0"})
    with pytest.raises(UserError) as caught:
        old_mirror.fetch(Chosen("", "1" * 40))
    assert caught.value.code == "commit-not-found"


def test_history_is_fetched_by_the_branch(origin: Origin, old_mirror: Mirror) -> None:
    first = origin.commit({"a": "0\n"})
    origin.commit({"b": "0\n"})
    last = origin.commit({"b": "1\n"})
    old_mirror.fetch(branch(last))
    origin.commit({"b": "2\n"})
    assert old_mirror.is_ancestor(first, last) is True
    assert old_mirror.is_ancestor("1" * 40, last) is False
    assert old_mirror.blame(last, "a", 1).id == first
