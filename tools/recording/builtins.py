"""
Record what a real API server makes of manifests of built-in kinds, good and bad.

The cases are in a YAML file: for each kind a body, changes to it that are tried as new objects,
and changes that are tried on an object that is there. Nothing but that object is stored, everything
else is a dry run. What is written is replayed by the tests of `kube_sandbox.registry.builtin`.

    python -m tools.recording.builtins
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from kube_objects.builtins.catalog import catalog
from kube_objects.refs import Kind
from kube_objects.schemas import KindSchema
from tools.cluster.parts import ToolError
from tools.recording.client import Answer, Client, Json
from tools.recording.command import TESTS, command_line, run

CASES = TESTS / "registry" / "builtin" / "data" / "cases.yaml"
FILE = TESTS / "registry" / "builtin" / "data" / "recorded.json.zlib"
NAMESPACE = "e-recorded"
DRY = "?dryRun=All&fieldManager=recorder"


def record(client: Client) -> dict[Path, list[Json]]:
    """Return all cases with their answers."""
    groups = yaml.safe_load(CASES.read_text())
    with client.namespace(NAMESPACE):
        return {FILE: [each for group in groups for each in recorded(client, group)]}


def recorded(client: Client, group: Json) -> Iterator[Json]:
    """Yield what the server answers to the cases of one kind."""
    version, _, name = group["kind"].rpartition(" ")
    found = catalog.find(Kind.of(version, name))
    if found is None:
        raise ToolError(f"there is no {group['kind']}")
    base = {"apiVersion": version, "kind": name, **group["base"]}
    path = path_of(found)
    for change in group.get("create", ()):
        body = merged(base, change)
        yield case(group, "create", body, client.ask("POST", path + DRY, body))
    for update in group.get("update", ()):
        yield from updates(client, group, merged(base, update.get("over", {})), path, update)


def updates(client: Client, group: Json, body: Json, path: str, update: Json) -> Iterator[Json]:
    """Yield what the server answers to changes of an object that is there."""
    where = f"{path}/{body['metadata']['name']}"
    client.remove(where)
    live = client.create(path, body)
    if "first" in update:
        live = client.ask("PUT", f"{where}/status", merged(live, update["first"])).body
    for subresource in ("", "status", "finalize"):
        for change in update.get(subresource or "then", ()):
            changed = merged(live, change)
            target = f"{where}/{subresource}" if subresource else where
            answer = client.ask("PUT", target + DRY, changed)
            more = {"live": without_managers(live), "subresource": subresource}
            yield {**case(group, "update", changed, answer), **more}
    client.remove(where)


def case(group: Json, verb: str, body: Json, answer: Answer) -> Json:
    """Return a case as it is kept."""
    return {
        "kind": group["kind"],
        "verb": verb,
        "body": without_managers(body),
        "code": answer.code,
        "answer": without_managers(answer.body),
        "warnings": answer.warnings,
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


def main() -> None:
    """Record, and write the file."""
    run(record, command_line(__doc__).parse_args())


if __name__ == "__main__":
    main()
