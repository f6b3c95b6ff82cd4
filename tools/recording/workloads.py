"""
Record how a real API server takes workloads: what it makes of them, or why it refuses them.

`python tools/record_workloads.py URL TOKEN NAMESPACE`: asks the server at URL all that is in
tools/workload_cases.txt, in dry runs but for the objects that are updated, and writes
tests/unit/apiserver/builtins/data/workloads.json.zlib, which a test replays.
"""

import copy
import http.client
import json
import re
import ssl
import sys
import time
import urllib.parse
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CASES = Path("tools/workload_cases.txt")
OUT = Path("tests/unit/apiserver/builtins/data/workloads.json.zlib")
UID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
ANY_UID = "00000000-0000-4000-8000-000000000000"
ANY_TIME = "2026-01-02T03:04:05Z"
WARNING = re.compile(r'299 - "((?:[^"\\]|\\.)*)"')
ATTEMPTS = 5
# Creates, and updates with what is appended to the path.
VERBS = {"+": "", "~": "", "s": "/status", "e": "/ephemeralcontainers", "r": "/resize"}


@dataclass(frozen=True, slots=True)
class Case:
    """One line of the table."""

    api_version: str
    kind: str
    plural: str
    base: dict[str, Any]
    verb: str
    change: str


class Server:
    """A real API server."""

    def __init__(self, url: str, token: str, namespace: str) -> None:
        parts = urllib.parse.urlparse(url)
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        self._connection = http.client.HTTPSConnection(
            parts.hostname or "", parts.port, context=trusting
        )
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._namespace = namespace

    def path(self, case: Case) -> str:
        """Return where the objects of a case are."""
        root = "apis" if "/" in case.api_version else "api"
        return f"/{root}/{case.api_version}/namespaces/{self._namespace}/{case.plural}"

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any, list[str]]:
        """Send a request; return code, body and warnings."""
        data = None if body is None else json.dumps(body)
        self._connection.request(method, path, body=data, headers=self._headers)
        answer = self._connection.getresponse()
        content = json.loads(answer.read())
        told = [value for key, value in answer.getheaders() if key.lower() == "warning"]
        warnings = [each for value in told for each in WARNING.findall(value)]
        return answer.status, content, [json.loads(f'"{each}"') for each in warnings]


def cases() -> Iterator[Case]:
    """Read the table."""
    head: tuple[str, str, str] = ("", "", "")
    base: dict[str, Any] = {}
    for line in CASES.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            api_version, kind, plural = line[1:-1].split()
            head = (api_version, kind, plural)
        elif line.startswith("base "):
            base = json.loads(line.removeprefix("base "))
        elif line[:1] in VERBS:
            yield Case(*head, base, line[0], line[1:].strip())


def changed(obj: Any, change: str) -> Any:
    """Return a copy of an object with a change made to it."""
    found = copy.deepcopy(obj)
    for part in change.split(" & ") if change else ():
        path, _, text = part.partition("=")
        assign(found, path.split("."), json.loads(text))
    return found


def assign(obj: Any, path: list[str], value: Any) -> None:
    """Set a field, or remove it."""
    into = obj
    for step in path[:-1]:
        into = into[int(step)] if isinstance(into, list) else into.setdefault(step, {})
    last = path[-1]
    if isinstance(into, list):
        into[int(last) : int(last) + 1] = [value]
    elif value is None:
        into.pop(last, None)
    else:
        into[last] = value


def asked(server: Server, case: Case) -> dict[str, Any]:
    """Ask for one case, and return it with the answer."""
    path = server.path(case)
    about = {"apiVersion": case.api_version, "kind": case.kind}
    if case.verb == "+":
        body = {**about, **changed(case.base, case.change)}
        answer = server.ask("POST", f"{path}?dryRun=All", body)
        return {"body": body, "answer": answer}
    name = case.base["metadata"]["name"]
    live = server.ask("GET", f"{path}/{name}")
    if live[0] == 404:
        server.ask("POST", path, {**about, **case.base})
        live = server.ask("GET", f"{path}/{name}")
    before = live[1]
    before["metadata"].pop("managedFields", None)
    body = changed(before, case.change)
    part = VERBS[case.verb]
    answer = server.ask("PUT", f"{path}/{name}{part}?dryRun=All", body)
    return {"live": before, "body": body, "answer": answer}


def settled(server: Server, case: Case) -> dict[str, Any]:
    """Ask until two answers agree: controllers of a server may write in between."""
    for _ in range(ATTEMPTS):
        found = asked(server, case)
        if found["answer"][0] != 409:
            return found
        time.sleep(0.1)
    sys.exit(f"{case}: always in conflict")


def trimmed(case: Case, found: dict[str, Any]) -> dict[str, Any]:
    """Return what a test compares, without what differs each time."""
    code, answer, warnings = found.pop("answer")
    if code >= 400:
        details = answer.get("details", {}).get("causes", [])
        result = {"code": code, "message": answer["message"], "causes": details}
    else:
        answer["metadata"].pop("managedFields", None)
        result = {"code": code, "object": answer}
    line = {
        "bucket": bucket(case),
        "verb": case.verb,
        "change": case.change,
        **found,
        **result,
        "warnings": warnings,
    }
    text = UID.sub(ANY_UID, json.dumps(line))
    text = re.sub(r'"namespace": "[^"]+"', '"namespace": "recorded"', text)
    text = re.sub(r'"resourceVersion": "[0-9]+"', '"resourceVersion": "7"', text)
    text = re.sub(
        r'("creationTimestamp"|"lastTransitionTime"): "[^"]+"', rf'\1: "{ANY_TIME}"', text
    )
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def bucket(case: Case) -> str:
    """Return plural with group."""
    group = case.api_version.rpartition("/")[0]
    return f"{case.plural}.{group}" if group else case.plural


def main(url: str, token: str, namespace: str) -> None:
    """Record all cases."""
    server = Server(url, token, namespace)
    for case in cases():
        name = case.base["metadata"]["name"]
        server.ask("DELETE", f"{server.path(case)}/{name}?propagationPolicy=Background")
    lines = [trimmed(case, settled(server, case)) for case in cases()]
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_bytes(zlib.compress(json.dumps(lines, separators=(",", ":")).encode(), 9))
    refused = sum(line["code"] >= 400 for line in lines)
    print(f"{len(lines)} cases, {refused} refused, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
