"""
Definitions with the outcome kro itself had for them.

`tests/golden/graph-cases.jsonl` holds the inputs, `graph-outcomes.jsonl` what kro's builder made of
them (`tools/oracle`). A line without an id gives CRDs to all cases after it.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kro_gitops.engine.graph.build import Built, try_build
from kro_gitops.engine.options import Options
from kube_objects.builtins.catalog import catalog
from kube_objects.crds import kinds_of_crd
from kube_objects.schemas import LayeredSchemas, SchemaSet

FOLDER = Path(__file__).parent / "golden"


@dataclass(frozen=True)
class Case:
    id: str
    definition: dict[str, Any]
    crds: tuple[dict[str, Any], ...]
    omit: bool

    def attempt(self) -> Built:
        kinds = SchemaSet(kind for crd in self.crds for kind in kinds_of_crd(crd))
        return try_build(self.definition, LayeredSchemas(kinds, catalog), Options(omit=self.omit))


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text("utf-8").splitlines()]


@cache
def cases() -> dict[str, Case]:
    found: dict[str, Case] = {}
    shared: tuple[dict[str, Any], ...] = ()
    for line in _lines("graph-cases.jsonl"):
        if "id" not in line:
            shared = tuple(line["crds"])
            continue
        features = line.get("features") or {}
        crds = (*shared, *line.get("crds", ()))
        omit = bool(features.get("CELOmitFunction"))
        found[line["id"]] = Case(line["id"], line["rgd"], crds, omit)
    return found


@cache
def outcomes() -> dict[str, dict[str, Any]]:
    return {line["id"]: line for line in _lines("graph-outcomes.jsonl") if "id" in line}
