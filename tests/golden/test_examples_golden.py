"""
What the examples become, word for word.

A change of these files is a change that people see: `pytest --update-golden` writes them anew.
"""

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from tests.command import EXAMPLES, run

Golden = Callable[[str, str], None]

DEFINITIONS = sorted((EXAMPLES / "rgds").glob("*.yaml"))
INSTANCES = ("front", "admin", "outlet", "warehouse", "imports", "data")

each_definition = pytest.mark.parametrize("path", DEFINITIONS, ids=lambda path: path.stem)


@pytest.mark.parametrize("name", INSTANCES)
def test_an_instance_is_rendered(name: str, golden: Golden) -> None:
    done = run("render", EXAMPLES, "--instance", name)
    assert (done.code, done.err) == (0, "")
    golden(f"render/{name}.yaml", done.out)


def test_every_instance_of_the_examples_is_here() -> None:
    found = [
        document["metadata"]["name"]
        for path in (EXAMPLES / "instances").rglob("*.yaml")
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8"))
    ]
    assert sorted(found) == sorted(INSTANCES)


def test_renderings_as_json(golden: Golden) -> None:
    golden(
        "render/imports.json", run("render", EXAMPLES, "--instance", "imports", "-o", "json").out
    )


@each_definition
@pytest.mark.parametrize(("form", "ending"), [("text", "txt"), ("mermaid", "mmd"), ("dot", "dot")])
def test_a_graph_is_drawn(path: Path, form: str, ending: str, golden: Golden) -> None:
    done = run("graph", path, "-o", form)
    assert (done.code, done.err) == (0, "")
    golden(f"graph/{path.stem}.{ending}", done.out)


@each_definition
def test_a_graph_as_svg_names_every_resource(path: Path) -> None:
    root = ElementTree.fromstring(run("graph", path, "-o", "svg").out)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    definition = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert {resource["id"] for resource in definition["spec"]["resources"]} <= texts


@each_definition
def test_a_crd_is_generated(path: Path, golden: Golden) -> None:
    golden(f"generate/{path.stem}.crd.yaml", run("generate", "crd", path).out)


@each_definition
def test_a_sample_instance_is_generated(path: Path, golden: Golden) -> None:
    golden(f"generate/{path.stem}.instance.yaml", run("generate", "instance", path).out)


@each_definition
def test_a_json_schema_is_generated(path: Path, golden: Golden) -> None:
    golden(f"generate/{path.stem}.schema.json", run("generate", "schema", path).out)
