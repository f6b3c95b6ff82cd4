"""
Record what a real API server makes of custom resource definitions and objects.

    python -m tools.record_custom KUBECONFIG FILE

The kubeconfig is JSON with a token. Everything is made in the group of `custom_cases` and in a
namespace of its own, and removed again. What differs from one run to the next (uids, times,
versions, managers) is left out of the recording, and the order of errors that has none.
"""

import gzip
import http.client
import json
import re
import ssl
import sys
import time
from pathlib import Path
from typing import Any

from tools import custom_cases as cases
from tools.custom_objects import OBJECTS
from tools.custom_tables import DEFINITIONS

Json = Any
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMESPACE = "c-recorded"
SEEDS = range(1, 61)
_VOLATILE = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink")


class Server:
    """A real API server."""

    def __init__(self, kubeconfig: Path) -> None:
        config = json.loads(kubeconfig.read_text())
        self._host = config["clusters"][0]["cluster"]["server"].partition("//")[2]
        self._token = config["users"][0]["user"]["token"]
        # Only a server on this machine is ever asked.
        context = ssl._create_unverified_context()
        self._connection = http.client.HTTPSConnection(self._host, context=context, timeout=60)

    def ask(self, method: str, path: str, body: Json = None) -> tuple[int, Json, list[str]]:
        """Send a request; return code, body and warnings."""
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "Accept": "application/json",
        }
        data = None if body is None else json.dumps(body)
        self._connection.request(method, path, data, headers)
        answer = self._connection.getresponse()
        read = answer.read()
        warnings = [_unquoted(each) for each in answer.headers.get_all("Warning") or ()]
        try:
            return answer.status, json.loads(read), warnings
        except ValueError:
            return answer.status, {"message": read.decode()}, warnings

    def answer(self, method: str, path: str, body: Json) -> Json:
        """Return what is recorded of an answer."""
        return recorded(*self.ask(method, path, body))


def _unquoted(warning: str) -> str:
    match = re.fullmatch(r'299 - "(.*)"', warning, re.DOTALL)
    return re.sub(r"\\(.)", r"\1", match[1]) if match else warning


def recorded(code: int, body: Json, warnings: list[str]) -> Json:
    """Return an answer without what differs from one run to the next."""
    found: Json = {"code": code}
    if warnings:
        found["warnings"] = sorted(warnings)
    if code >= 300:
        causes = (body.get("details") or {}).get("causes")
        found["reason"] = body.get("reason", "")
        found["message"] = _normal(body["message"])
        if causes:
            told = [f"{_normal(e['field'])}|{e['reason']}|{_normal(e['message'])}" for e in causes]
            found["causes"] = sorted(told)
            if len(told) > 1:
                found["message"] = found["message"].partition(" is invalid: ")[0]
        return found
    for key in _VOLATILE:
        body.get("metadata", {}).pop(key, None)
    found["object"] = body
    return found


def _normal(text: str) -> str:
    return re.sub(r"selfType\d+", "selfType", text)


def _wait_until_served(server: Server, path: str) -> None:
    for _ in range(200):
        if server.ask("GET", f"{path}?limit=1")[0] == 200:
            return
        time.sleep(0.05)
    raise SystemExit(f"not served: {path}")


def _record_definitions(server: Server) -> list[Json]:
    given = [*DEFINITIONS, *map(cases.random_definition, SEEDS)]
    return [
        {
            "crd": crd,
            "answer": server.answer("POST", f"{CRDS}?dryRun=All&fieldValidation=Strict", crd),
        }
        for crd in given
    ]


def _record_objects(server: Server) -> list[Json]:
    found = []
    for crd, requests in OBJECTS:
        found += _record_kind(server, crd, [(each, None) for each in requests])
    for seed in SEEDS:
        crd = cases.random_definition(seed)
        found += _record_kind(server, crd, list(cases.random_objects(crd, seed, 12)))
    return found


def _record_kind(server: Server, crd: Json, pairs: list[tuple[Json, Json]]) -> list[Json]:
    name, plural = crd["metadata"]["name"], crd["spec"]["names"]["plural"]
    path = f"/apis/{cases.GROUP}/v1/namespaces/{NAMESPACE}/{plural}"
    weak = cases.weakened(crd)
    code, _, _ = server.ask("POST", CRDS, crd)
    if code >= 300:
        return []
    try:
        _wait_until_served(server, path)
        tries = [_try_create(server, path, obj) for obj, _ in pairs]
        changes = [change for _, change in pairs if change is not None]
        if changes:
            tries += _record_changes(server, crd, weak, path, pairs)
        return [{"crd": crd, "tries": tries}]
    finally:
        server.ask("DELETE", f"{CRDS}/{name}")
        while server.ask("GET", f"{CRDS}/{name}")[0] != 404:
            time.sleep(0.05)


def _try_create(server: Server, path: str, request: Json) -> Json:
    query = "?dryRun=All" + (request.pop("query", "") if "query" in request else "")
    return {
        "verb": "create",
        "query": query,
        "object": request,
        "answer": server.answer("POST", f"{path}{query}", request),
    }


def _record_changes(
    server: Server, crd: Json, weak: Json, path: str, pairs: list[tuple[Json, Json]]
) -> list[Json]:
    """Store objects while everything is accepted, then change them by the real rules."""
    name = crd["metadata"]["name"]
    _replace_definition(server, name, weak)
    time.sleep(0.3)
    stored = []
    for index, (obj, change) in enumerate(pairs):
        named = f"stored-{index}"
        code, body, _ = server.ask("POST", path, {**obj, "metadata": {"name": named}})
        if code < 300:
            stored.append((body, change, named))
    _replace_definition(server, name, crd)
    time.sleep(0.3)
    tries = []
    for old, change, named in stored:
        shown = server.ask("GET", f"{path}/{named}")[1]
        new = {**shown, "spec": change["spec"]}
        tries.append(
            {
                "verb": "update",
                "stored": recorded(200, {**old, "metadata": {**old["metadata"]}}, [])["object"],
                "shown": recorded(200, {**shown, "metadata": {**shown["metadata"]}}, [])["object"],
                "object": {**change, "metadata": {"name": named}},
                "answer": server.answer("PUT", f"{path}/{named}?dryRun=All", new),
            }
        )
        server.ask("DELETE", f"{path}/{named}")
    return tries


def _replace_definition(server: Server, name: str, crd: Json) -> None:
    current = server.ask("GET", f"{CRDS}/{name}")[1]
    code, body, _ = server.ask("PUT", f"{CRDS}/{name}", {**current, "spec": crd["spec"]})
    if code >= 300:
        raise SystemExit(body["message"])


def main() -> None:
    """Record everything."""
    server = Server(Path(sys.argv[1]))
    server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    data = {"definitions": _record_definitions(server), "objects": _record_objects(server)}
    server.ask("DELETE", f"/api/v1/namespaces/{NAMESPACE}")
    packed = gzip.compress(json.dumps(data, sort_keys=True).encode(), 9, mtime=0)
    Path(sys.argv[2]).write_bytes(packed)
    tries = sum(len(each["tries"]) for each in data["objects"])
    print(f"{len(data['definitions'])} definitions, {tries} objects, {len(packed)} bytes")


if __name__ == "__main__":
    main()
