"""
Record how a real API server takes workloads: what it makes of them, or why it refuses them.

Asks all that is in `workload_cases.txt`, in dry runs but for the objects that are updated.

    python -m tools.recording.workloads
"""

import copy
import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.cluster.parts import ToolError
from tools.recording.client import Client, Json
from tools.recording.command import TESTS, command_line, run

CASES = Path(__file__).parent / "workload_cases.txt"
FILE = TESTS / "registry" / "builtin" / "data" / "workloads.json.zlib"
NAMESPACE = "recorded"
UID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
ANY_UID = "00000000-0000-4000-8000-000000000000"
ANY_TIME = "2026-01-02T03:04:05Z"
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

    @property
    def path(self) -> str:
        """Return where its objects are."""
        root = "apis" if "/" in self.api_version else "api"
        return f"/{root}/{self.api_version}/namespaces/{NAMESPACE}/{self.plural}"


def record(client: Client) -> dict[Path, list[Json]]:
    """Return all cases with their answers."""
    with client.namespace(NAMESPACE):
        clear(client)
        found = [trimmed(case, settled(client, case)) for case in cases()]
        clear(client)
    return {FILE: found}


def clear(client: Client) -> None:
    """Remove the objects that are updated."""
    for path in {f"{case.path}/{case.base['metadata']['name']}" for case in cases()}:
        client.remove(path)


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


def asked(client: Client, case: Case) -> dict[str, Any]:
    """Ask for one case, and return it with the answer."""
    path = case.path
    about = {"apiVersion": case.api_version, "kind": case.kind}
    if case.verb == "+":
        body = {**about, **changed(case.base, case.change)}
        answer = client.ask("POST", f"{path}?dryRun=All", body)
        return {"body": body, "answer": answer}
    name = case.base["metadata"]["name"]
    live = client.ask("GET", f"{path}/{name}")
    if live.code == 404:
        client.create(path, {**about, **case.base})
        live = client.ask("GET", f"{path}/{name}")
    before = live.body
    before["metadata"].pop("managedFields", None)
    body = changed(before, case.change)
    part = VERBS[case.verb]
    answer = client.ask("PUT", f"{path}/{name}{part}?dryRun=All", body)
    return {"live": before, "body": body, "answer": answer}


def settled(client: Client, case: Case) -> dict[str, Any]:
    """Ask until two answers agree: controllers of a server may write in between."""
    for _ in range(ATTEMPTS):
        found = asked(client, case)
        if found["answer"].code != 409:
            return found
        time.sleep(0.1)
    raise ToolError(f"{case}: always in conflict")


def trimmed(case: Case, found: dict[str, Any]) -> dict[str, Any]:
    """Return what a test compares, without what differs each time."""
    answer = found.pop("answer")
    body, result = answer.body, {"code": answer.code}
    if answer.code >= 400:
        causes = body.get("details", {}).get("causes", [])
        result |= {"message": body["message"], "causes": causes}
    else:
        body["metadata"].pop("managedFields", None)
        result |= {"object": body}
    line = {
        "bucket": bucket(case),
        "verb": case.verb,
        "change": case.change,
        **found,
        **result,
        "warnings": answer.warnings,
    }
    text = UID.sub(ANY_UID, json.dumps(line))
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


def main() -> None:
    """Record, and write the file."""
    run(record, command_line(__doc__).parse_args())


if __name__ == "__main__":
    main()
