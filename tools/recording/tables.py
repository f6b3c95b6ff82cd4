"""
Ask a real API server for tables: ``python -m tools.record_tables KUBECONFIG COLUMNS CASES``.

COLUMNS (kro_gitops/apiserver/tables/columns.json.zlib) gets the columns of every built-in kind.
CASES gets objects of many kinds with the rows that are shown for them, and the times between which
they were asked for. Objects are made in a namespace, given a status, and deleted again; the server
should run no controllers, which would change them.
"""

import argparse
import json
import time
import zlib
from collections.abc import Iterable
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import yaml

from tools.record_patches import Api

NAMESPACE = "f-recorded-tables"
GROUP = "tables.f.example.com"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
GOING = f"/api/v1/namespaces/{NAMESPACE}/pods/going"
OTHER_VERSIONS = (
    "/apis/events.k8s.io/v1/events",
    "/apis/autoscaling/v1/horizontalpodautoscalers",
    f"/apis/{GROUP}/v2/rows",
)
OBJECTS = Path(__file__).parent / "table_objects.yaml"


class TableApi(Api):
    """An API server that is asked for tables."""

    _connection: HTTPSConnection
    _token: str

    def table(self, path: str) -> Any:
        """Return a table with whole objects, or `None`."""
        headers = {"Authorization": f"Bearer {self._token}", "Accept": TABLE}
        self._connection.request("GET", f"{path}?includeObject=Object", headers=headers)
        answer = self._connection.getresponse()
        text = answer.read()
        return json.loads(text) if answer.status == 200 else None


def columns(api: TableApi) -> dict[str, Any]:
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
        for g in api.ask("GET", "/apis")[1]["groups"]
        for v in g["versions"]
    ]
    for path in ["/api/v1", *groups]:
        if "example.com" in path:
            continue
        for resource in api.ask("GET", path)[1]["resources"]:
            if "list" not in resource["verbs"]:
                continue
            found = list(map(row, api.table(f"{path}/{resource['name']}")["columnDefinitions"]))
            if found[1][0] == "Created At":
                plain = found
            else:
                group = "" if path == "/api/v1" else path.split("/")[2]
                kinds[f"{group}/{resource['kind']}"] = found
    scale = api.table(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/plain/scale")
    kinds["autoscaling/Scale"] = list(map(row, scale["columnDefinitions"]))
    return {"kinds": kinds, "texts": texts, "plain": plain}


def located(api: TableApi, path: str) -> str:
    """Return the path within the namespace, for kinds that have one."""
    start, _, plural = path.rpartition("/")
    for _ in range(50):
        for resource in api.ask("GET", start)[1].get("resources", ()):
            if resource["name"] == plural:
                return (
                    f"{start}/namespaces/{NAMESPACE}/{plural}" if resource["namespaced"] else path
                )
        time.sleep(0.2)
    raise SystemExit(f"{path} is not served")


def make(api: TableApi, path: str, obj: dict[str, Any]) -> str:
    """Make an object and give it its status; return its path."""
    here = located(api, path)
    body = {name: value for name, value in obj.items() if name != "status"}
    code, found = api.ask("POST", here, body)
    if code != 201:
        raise SystemExit(f"{path} {obj['metadata']}: {found['message']}")
    place = f"{here}/{found['metadata']['name']}"
    if obj.get("status"):
        code, told = api.ask("PATCH", f"{place}/status", {"status": obj["status"]}, "merge")
        if code != 200:
            raise SystemExit(f"{place}: {told['message']}")
    return place


def cases(api: TableApi, paths: Iterable[str]) -> list[dict[str, Any]]:
    """Ask for the tables of all that was made."""
    found = []
    for path in dict.fromkeys(paths):
        before = time.time()
        table = api.table(located(api, path))
        after = time.time()
        case = {"path": path, "before": before, "after": after}
        if GROUP in path:
            case["columns"] = table["columnDefinitions"]
        rows = [each for each in table["rows"] or () if is_ours(each["object"]["metadata"])]
        found.append({**case, "rows": rows})
    return found


def is_ours(metadata: dict[str, Any]) -> bool:
    """Say whether an object was made here; drop what nobody reads of it."""
    metadata.pop("managedFields", None)
    return metadata.get("namespace") == NAMESPACE or "f-tables" in metadata["name"]


def cleared(api: TableApi, made: list[str]) -> None:
    """Delete what was made."""
    # No controller is there to take the finalizers off.
    for path in made:
        api.ask("PATCH", path, {"metadata": {"finalizers": None}}, "merge")
    for path in [*made, f"/api/v1/namespaces/{NAMESPACE}"]:
        api.ask("DELETE", f"{path}?gracePeriodSeconds=0&propagationPolicy=Background")
    unheld = {"metadata": {"name": NAMESPACE}, "spec": {"finalizers": []}}
    api.ask("PUT", f"/api/v1/namespaces/{NAMESPACE}/finalize", unheld)


def main() -> None:
    """Record, and write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("kubeconfig", "columns", "cases"):
        parser.add_argument(name, type=Path)
    arguments = parser.parse_args()
    api = TableApi(arguments.kubeconfig)
    made: list[str] = []
    api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    wanted = yaml.safe_load(OBJECTS.read_text())
    try:
        made.extend(make(api, each["path"], each["object"]) for each in wanted)
        api.ask("DELETE", GOING)
        found = cases(api, [*(each["path"] for each in wanted[1:]), *OTHER_VERSIONS])
        shown = columns(api)
    finally:
        cleared(api, made[::-1])
    for file, value in ((arguments.columns, shown), (arguments.cases, found)):
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        file.write_bytes(zlib.compress(text.encode(), 9))


if __name__ == "__main__":
    main()
