"""The audit with the real pip-audit and a small advisory service with OSV's API."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tools.dependencies.audit import ACCEPTED, summary
from tools.dependencies.locks import ROOT

LOCK = f"""\
jinja2==3.1.0 \\
    --hash=sha256:{"a" * 64}
    # via -r kro-gitops.in
markupsafe==3.0.4 \\
    --hash=sha256:{"b" * 64}
    # via jinja2
"""
ADVISORY = {
    "id": "PYSEC-2024-1",
    "aliases": ["CVE-2024-1"],
    "summary": "a way out of the sandbox",
    "published": "2024-01-01T00:00:00Z",
    "affected": [
        {
            "package": {"name": "jinja2", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "3.1.3"}]}],
        }
    ],
}


@contextmanager
def advisory_service(known: dict[str, list[object]], status: int = 200) -> Iterator[str]:
    """Serve advisories by the name of the distribution; give the URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = known.get(asked["package"]["name"])
            body = json.dumps({"vulns": found} if found else {}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1/query"
        finally:
            server.shutdown()
            thread.join()


def audit(url: str, folder: Path) -> subprocess.CompletedProcess[str]:
    lock = folder / "small.txt"
    lock.write_text(LOCK, encoding="utf-8")
    command = [sys.executable, "-m", "tools.dependencies.audit", f"--lock={lock}"]
    return subprocess.run(
        [*command, f"--osv-url={url}"],
        cwd=ROOT,
        env={**os.environ, "XDG_CACHE_HOME": str(folder), "NO_PROXY": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_vulnerability_fails_the_audit(tmp_path: Path) -> None:
    with advisory_service({"jinja2": [ADVISORY]}) as url:
        done = audit(url, tmp_path)
    assert done.returncode == 1, done.stderr
    assert "audit: jinja2 3.1.0 is vulnerable: PYSEC-2024-1, CVE-2024-1; fixed in 3.1.3\n" in (
        done.stdout
    )


def test_no_vulnerability_says_how_much_was_checked(tmp_path: Path) -> None:
    with advisory_service({}) as url:
        done = audit(url, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "audit: 2 distributions were checked for known vulnerabilities\n"


NOT_CHECKED = (
    "audit: NOT CHECKED for known vulnerabilities: 2 distributions, because the advisory service "
    "did not answer: "
)


def test_a_service_that_fails_is_named_and_fails_nothing(tmp_path: Path) -> None:
    with advisory_service({"jinja2": [ADVISORY]}, status=500) as url:
        done = audit(url, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(NOT_CHECKED)


def test_without_a_network_that_is_printed_and_nothing_fails(tmp_path: Path) -> None:
    with advisory_service({}) as url:
        pass
    done = audit(url, tmp_path)  # nobody listens there any more
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(NOT_CHECKED)
    assert "Connection refused" in done.stdout


def test_distributions_that_the_service_does_not_know_are_not_called_checked() -> None:
    unknown = {"name": "a", "skip_reason": "Dependency not found"}
    known = {"name": "b", "version": "1", "vulns": []}
    assert summary([unknown, known]) == (
        "audit: NOT CHECKED for known vulnerabilities: 1 of 2 distributions, which the advisory "
        "service does not know (a)"
    )


def test_every_accepted_vulnerability_has_a_reason() -> None:
    assert all(ACCEPTED.values())
