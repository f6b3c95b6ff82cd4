from typing import Any

from kro_gitops.preview.repository import compile_repository
from kro_gitops.source.files.manifests import read
from kube_objects.builtins.catalog import catalog
from tests.builders import definition, resource


def uses(name: str, kind: str, other: str) -> dict[str, Any]:
    body = {"apiVersion": "kro.run/v1", "kind": other, "metadata": {"name": "x"}}
    made = definition(resource("other", body), kind=kind)
    made["metadata"]["name"] = name
    return made


def test_a_ring_of_definitions_is_one_mistake() -> None:
    ring = [uses("one", "One", "Two"), uses("two", "Two", "Three"), uses("three", "Three", "One")]
    files = [(f"{index}.yaml", repr(each).encode()) for index, each in enumerate(ring)]
    repository = compile_repository(read(files), catalog)
    (finding,) = repository.findings
    assert finding.problem.code == "definition-cycle"
    assert finding.problem.summary == "definitions need each other: one -> two -> three -> one"
