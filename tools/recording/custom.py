"""
Record what a real API server makes of custom resource definitions and objects.

Everything is made in the group of `custom_cases` and in a namespace of its own, and removed again.
What differs from one run to the next (uids, times, versions, managers) is left out of the
recording, and the order of errors that has none.

    python -m tools.recording.custom
"""

import re
import time
from pathlib import Path
from typing import Any

from tools.cluster.parts import ToolError
from tools.recording import custom_cases as cases
from tools.recording.client import CRDS, Answer, Client
from tools.recording.command import TESTS, command_line, run
from tools.recording.custom_definitions import DEFINITIONS
from tools.recording.custom_objects import OBJECTS

Json = Any
FILE = TESTS / "apiextensions" / "recorded.json.gz"
NAMESPACE = "c-recorded"
STRICT = "?dryRun=All&fieldValidation=Strict"
SEEDS = range(1, 61)
_VOLATILE = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink")


def record(client: Client) -> dict[Path, Json]:
    """Return all definitions and objects with their answers."""
    with client.namespace(NAMESPACE):
        found = {"definitions": _record_definitions(client), "objects": _record_objects(client)}
    return {FILE: found}


def _recorded(answer: Answer) -> Json:
    """Return an answer without what differs from one run to the next."""
    body = answer.body
    found: Json = {"code": answer.code}
    if answer.warnings:
        found["warnings"] = sorted(answer.warnings)
    if answer.code < 300:
        return {**found, "object": _lasting(body)}
    causes = (body.get("details") or {}).get("causes")
    found["reason"] = body.get("reason", "")
    found["message"] = _normal(body["message"])
    if causes:
        told = [f"{_normal(e['field'])}|{e['reason']}|{_normal(e['message'])}" for e in causes]
        found["causes"] = sorted(told)
        if len(told) > 1:
            found["message"] = found["message"].partition(" is invalid: ")[0]
    return found


def _lasting(obj: Json) -> Json:
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _VOLATILE}
    return {**obj, "metadata": metadata}


def _normal(text: str) -> str:
    return re.sub(r"selfType\d+", "selfType", text)


def _record_definitions(client: Client) -> list[Json]:
    given = [*DEFINITIONS, *map(cases.random_definition, SEEDS)]
    return [
        {
            "crd": crd,
            "answer": _recorded(client.ask("POST", f"{CRDS}{STRICT}", crd)),
        }
        for crd in given
    ]


def _record_objects(client: Client) -> list[Json]:
    found = []
    for crd, requests in OBJECTS:
        found += _record_kind(client, crd, [(each, None) for each in requests])
    for seed in SEEDS:
        crd = cases.random_definition(seed)
        found += _record_kind(client, crd, list(cases.random_objects(crd, seed, 12)))
    return found


def _record_kind(client: Client, crd: Json, pairs: list[tuple[Json, Json]]) -> list[Json]:
    path = f"/apis/{cases.GROUP}/v1/namespaces/{NAMESPACE}/{crd['spec']['names']['plural']}"
    if client.ask("POST", f"{CRDS}?dryRun=All", crd).code >= 300:
        return []
    with client.definition(crd, path):
        tries = [_try_create(client, path, obj) for obj, _ in pairs]
        if any(change is not None for _, change in pairs):
            tries += _record_changes(client, crd, path, pairs)
    return [{"crd": crd, "tries": tries}]


def _try_create(client: Client, path: str, request: Json) -> Json:
    query = f"?dryRun=All{request.pop('query', '')}"
    return {
        "verb": "create",
        "query": query,
        "object": request,
        "answer": _recorded(client.ask("POST", f"{path}{query}", request)),
    }


def _record_changes(
    client: Client, crd: Json, path: str, pairs: list[tuple[Json, Json]]
) -> list[Json]:
    """Store objects while everything is accepted, then change them by the real rules."""
    name = crd["metadata"]["name"]
    _replace_definition(client, name, cases.weakened(crd))
    time.sleep(0.3)
    stored = []
    for index, (obj, change) in enumerate(pairs):
        named = f"stored-{index}"
        answer = client.ask("POST", path, {**obj, "metadata": {"name": named}})
        if answer.code < 300:
            stored.append((answer.body, change, named))
    _replace_definition(client, name, crd)
    time.sleep(0.3)
    tries = []
    for old, change, named in stored:
        shown = client.ask("GET", f"{path}/{named}").body
        new = {**shown, "spec": change["spec"]}
        tries.append(
            {
                "verb": "update",
                "stored": _lasting(old),
                "shown": _lasting(shown),
                "object": {**change, "metadata": {"name": named}},
                "answer": _recorded(client.ask("PUT", f"{path}/{named}?dryRun=All", new)),
            }
        )
        client.ask("DELETE", f"{path}/{named}")
    return tries


def _replace_definition(client: Client, name: str, crd: Json) -> None:
    current = client.ask("GET", f"{CRDS}/{name}").body
    answer = client.ask("PUT", f"{CRDS}/{name}", {**current, "spec": crd["spec"]})
    if answer.code >= 300:
        raise ToolError(answer.body["message"])


def main() -> None:
    """Record, and write the file."""
    run(record, command_line(__doc__).parse_args())


if __name__ == "__main__":
    main()
