"""
Record tables: what a real API server shows of objects of many kinds, and the columns of all.

Objects are made in a namespace, given a status, and deleted again. Rows are kept with the times
between which they were asked for. The server should run no controllers, which would change the
objects.

    python -m tools.recording.tables
"""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from tools.cluster.parts import ToolError
from tools.recording.client import MERGE_PATCH, Client
from tools.recording.command import ROOT, TESTS, command_line, run

COLUMNS = ROOT / "packages/kube-sandbox/src/kube_sandbox/tables/columns.json.zlib"
CASES = TESTS / "data" / "tables.json.zlib"
OBJECTS = Path(__file__).parent / "table_objects.yaml"
NAMESPACE = "f-recorded-tables"
GROUP = "tables.f.example.com"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
GOING = f"/api/v1/namespaces/{NAMESPACE}/pods/going"
OTHER_VERSIONS = (
    "/apis/events.k8s.io/v1/events",
    "/apis/autoscaling/v1/horizontalpodautoscalers",
    f"/apis/{GROUP}/v2/rows",
)


def record(client: Client) -> dict[Path, Any]:
    """Return the columns of every kind, and the rows of what is made."""
    made: list[str] = []
    wanted = yaml.safe_load(OBJECTS.read_text())
    with client.namespace(NAMESPACE):
        try:
            made.extend(make(client, each["path"], each["object"]) for each in wanted)
            client.ask("DELETE", GOING)
            found = cases(client, [*(each["path"] for each in wanted[1:]), *OTHER_VERSIONS])
            return {COLUMNS: columns(client), CASES: found}
        finally:
            for path in made[::-1]:
                client.remove(path)


def table(client: Client, path: str) -> Any:
    """Return a table with whole objects."""
    return client.ask("GET", f"{path}?includeObject=Object", headers={"Accept": TABLE}).body


def columns(client: Client) -> dict[str, Any]:
    """Return the columns of every built-in kind."""
    kinds: dict[str, list[Any]] = {}
    texts: list[str] = []
    plain: list[Any] = []

    def row(column: dict[str, Any]) -> list[Any]:
        if column["description"] not in texts:
            texts.append(column["description"])
        return [
            column["name"],
            column["type"],
            column["format"],
            texts.index(column["description"]),
            column["priority"],
        ]

    groups = [
        f"/apis/{v['groupVersion']}"
        for g in client.ask("GET", "/apis").body["groups"]
        for v in g["versions"]
    ]
    for path in ["/api/v1", *groups]:
        if "example.com" in path:
            continue
        for resource in client.ask("GET", path).body["resources"]:
            if "list" not in resource["verbs"]:
                continue
            found = list(map(row, table(client, f"{path}/{resource['name']}")["columnDefinitions"]))
            if found[1][0] == "Created At":
                plain = found
            else:
                group = "" if path == "/api/v1" else path.split("/")[2]
                kinds[f"{group}/{resource['kind']}"] = found
    scale = table(client, f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/plain/scale")
    kinds["autoscaling/Scale"] = list(map(row, scale["columnDefinitions"]))
    return {"kinds": kinds, "texts": texts, "plain": plain}


def located(client: Client, path: str) -> str:
    """Return the path within the namespace, for kinds that have one."""
    start, _, plural = path.rpartition("/")
    for _ in range(50):
        for resource in client.ask("GET", start).body.get("resources", ()):
            if resource["name"] == plural:
                return (
                    f"{start}/namespaces/{NAMESPACE}/{plural}" if resource["namespaced"] else path
                )
        time.sleep(0.2)
    raise ToolError(f"{path} is not served")


def make(client: Client, path: str, obj: dict[str, Any]) -> str:
    """Make an object and give it its status; return its path."""
    here = located(client, path)
    body = {name: value for name, value in obj.items() if name != "status"}
    place = f"{here}/{client.create(here, body)['metadata']['name']}"
    if obj.get("status"):
        answer = client.ask("PATCH", f"{place}/status", {"status": obj["status"]}, MERGE_PATCH)
        if answer.code != 200:
            raise ToolError(f"{place}: {answer.body['message']}")
    return place


def cases(client: Client, paths: Iterable[str]) -> list[dict[str, Any]]:
    """Ask for the tables of all that was made."""
    found = []
    for path in dict.fromkeys(paths):
        before = time.time()
        shown = table(client, located(client, path))
        after = time.time()
        case = {"path": path, "before": before, "after": after}
        if GROUP in path:
            case["columns"] = shown["columnDefinitions"]
        rows = [each for each in shown["rows"] or () if is_ours(each["object"]["metadata"])]
        found.append({**case, "rows": rows})
    return found


def is_ours(metadata: dict[str, Any]) -> bool:
    """Say whether an object was made here; drop what nobody reads of it."""
    metadata.pop("managedFields", None)
    return metadata.get("namespace") == NAMESPACE or "f-tables" in metadata["name"]


def main() -> None:
    """Record, and write the files."""
    run(record, command_line(__doc__).parse_args())


if __name__ == "__main__":
    main()
