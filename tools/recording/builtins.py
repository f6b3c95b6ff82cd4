"""
Record what a real API server makes of manifests of built-in kinds, good and bad.

The cases are in a YAML file: for each kind a body, changes to it that are tried as new objects,
and changes that are tried on an object that is there. Nothing but that object is stored, everything
else is a dry run. What is written is replayed by the tests of `kro_gitops.apiserver.builtins`.

    KUBECONFIG=… python -m tools.record_builtins

The kubeconfig is one that `python -m tools.cluster` writes: JSON, with a token.
"""

import argparse
import json
import os
import ssl
import sys
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from kro_gitops.objects.builtins.catalog import catalog
from kro_gitops.objects.kinds import KindSchema
from kro_gitops.objects.refs import Kind

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "unit" / "apiserver" / "builtins" / "data"
NAMESPACE = "e-recorded"
DRY = "?dryRun=All&fieldManager=recorder"

Json = dict[str, Any]
# Code, body, warnings.
Answer = tuple[int, Json, list[str]]


class Server:
    """A real API server."""

    def __init__(self, kubeconfig: Path) -> None:
        config = json.loads(kubeconfig.read_text())
        self._url = config["clusters"][0]["cluster"]["server"]
        self._token = config["users"][0]["user"]["token"]
        # Loopback, for as long as the recording lasts.
        self._context = ssl._create_unverified_context()

    def send(self, method: str, path: str, body: Any = None) -> Answer:
        """Return the code, the answer, and the warnings."""
        request = urllib.request.Request(
            f"{self._url}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self._token}",
                "Content-Type": "application/json",
            },
        )
        try:
            with urllib.request.urlopen(request, context=self._context, timeout=30) as answer:
                return answer.status, json.loads(answer.read()), warnings(answer.headers)
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read()), warnings(error.headers)


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--cases", type=Path, default=FOLDER / "cases.yaml")
    parser.add_argument("--recorded", type=Path, default=FOLDER / "recorded.json.zlib")
    parser.add_argument("--kubeconfig", type=Path, default=os.environ.get("KUBECONFIG"))
    arguments = parser.parse_args()
    if arguments.kubeconfig is None:
        sys.exit("record_builtins: name a kubeconfig")
    server = Server(arguments.kubeconfig)
    remove(server, f"/api/v1/namespaces/{NAMESPACE}")
    server.send("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    groups = yaml.safe_load(arguments.cases.read_text())
    found = [each for group in groups for each in recorded(server, group)]
    remove(server, f"/api/v1/namespaces/{NAMESPACE}")
    text = json.dumps(found, separators=(",", ":"))
    arguments.recorded.write_bytes(zlib.compress(text.encode(), 9))
    size = arguments.recorded.stat().st_size / 1024
    print(f"{arguments.recorded}: {len(found)} cases, {size:.0f} KiB")


def remove(server: Server, path: str) -> None:
    """Remove an object, also where no controller takes its finalizers away."""
    code, live, _ = server.send("GET", path)
    if code != 200:
        return
    server.send("PUT", path, merged(live, {"metadata": {"finalizers": None}}))
    _, live, _ = server.send("DELETE", path)
    if live["kind"] == "Namespace":
        server.send("PUT", f"{path}/finalize", {**live, "spec": {}})


def recorded(server: Server, group: Json) -> Iterator[Json]:
    """Yield what the server answers to the cases of one kind."""
    version, _, name = group["kind"].rpartition(" ")
    found = catalog.find(Kind.of(version, name))
    if found is None:
        sys.exit(f"record_builtins: there is no {group['kind']}")
    base = {"apiVersion": version, "kind": name, **group["base"]}
    path = path_of(found)
    for change in group.get("create", ()):
        body = merged(base, change)
        yield case(group, "create", body, server.send("POST", path + DRY, body))
    for update in group.get("update", ()):
        yield from updates(server, group, merged(base, update.get("over", {})), path, update)


def updates(server: Server, group: Json, body: Json, path: str, update: Json) -> Iterator[Json]:
    """Yield what the server answers to changes of an object that is there."""
    where = f"{path}/{body['metadata']['name']}"
    remove(server, where)
    code, live, _ = server.send("POST", path, body)
    if code != 201:
        sys.exit(f"record_builtins: {group['kind']}: {live['message']}")
    if "first" in update:
        code, live, _ = server.send("PUT", f"{where}/status", merged(live, update["first"]))
    for subresource in ("", "status", "finalize"):
        for change in update.get(subresource or "then", ()):
            changed = merged(live, change)
            target = f"{where}/{subresource}" if subresource else where
            answer = server.send("PUT", target + DRY, changed)
            more = {"live": without_managers(live), "subresource": subresource}
            yield {**case(group, "update", changed, answer), **more}
    remove(server, where)


def case(group: Json, verb: str, body: Json, answer: Answer) -> Json:
    """Return a case as it is kept."""
    return {
        "kind": group["kind"],
        "verb": verb,
        "body": without_managers(body),
        "code": answer[0],
        "answer": without_managers(answer[1]),
        "warnings": answer[2],
    }


def without_managers(obj: Json) -> Json:
    """Return an object without its managed fields: they are recorded elsewhere."""
    if not isinstance(obj.get("metadata"), dict):
        return obj
    kept = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": kept}


def path_of(found: KindSchema) -> str:
    """Return where objects of a kind are made."""
    root = f"/apis/{found.kind.api_version}" if found.kind.group else "/api/v1"
    return (
        f"{root}/namespaces/{NAMESPACE}/{found.plural}"
        if found.namespaced
        else f"{root}/{found.plural}"
    )


def warnings(headers: Any) -> list[str]:
    """Return the warnings of an answer."""
    found = headers.get_all("Warning") or []
    return [json.loads(each.split(" ", 2)[2]) for each in found]


def merged(base: Any, change: Any) -> Any:
    """Apply a merge patch."""
    if not isinstance(change, dict):
        return change
    found = dict(base) if isinstance(base, dict) else {}
    for key, value in change.items():
        if value is None:
            found.pop(key, None)
        elif value == "null!":
            found[key] = None
        else:
            found[key] = merged(found.get(key), value)
    return found


if __name__ == "__main__":
    main()
