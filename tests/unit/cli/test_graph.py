import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.builders import config_map, definition, resource
from tests.command import EXAMPLES, run

FORMS = ("text", "mermaid", "dot", "svg")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, *documents: object) -> None:
    text = "---\n".join(f"{json.dumps(document)}\n" for document in documents)
    Path(name).write_text(text, encoding="utf-8")


def named(name: str, kind: str) -> dict[str, object]:
    found = definition(resource(), kind=kind)
    found["metadata"]["name"] = name
    return found


def test_the_order_and_the_reasons_are_told() -> None:
    write("a.yaml", definition(resource("last", config_map("${cm.metadata.name}-x")), resource()))
    done = run("graph", "a.yaml")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "kiosk: Kiosk (kro.run/v1)\n"
        "  1. cm    ConfigMap\n"
        "  2. last  ConfigMap\n"
        "             needs cm: metadata.name ← cm.metadata.name\n"
    )


def test_a_definition_without_resources_is_drawn_too() -> None:
    write("a.yaml", definition())
    assert run("graph", "a.yaml").out.endswith("  no resources\n")
    assert ElementTree.fromstring(run("graph", "a.yaml", "-o", "svg").out) is not None


def test_a_definition_comes_from_standard_input() -> None:
    text = (EXAMPLES / "rgds" / "webapp.yaml").read_bytes()
    assert run("graph", "-", stdin=text).out.startswith("webapp: WebApp ")


@pytest.mark.parametrize("path", ["{}/rgds/shop.yaml", "{}/rgds/../rgds/shop.yaml"])
def test_kinds_of_the_files_beside_it_are_known(path: str) -> None:
    assert run("graph", path.format(EXAMPLES)).code == 0


def test_folders_below_are_not_read() -> None:
    Path("sub").mkdir()
    write("sub/database.yaml", named("database", "Database"))
    uses = resource("db", {"apiVersion": "kro.run/v1", "kind": "Database", "metadata": {}})
    write("a.yaml", definition(uses))
    done = run("graph", "a.yaml")
    assert done.code == 1
    assert "error[unknown-kind]" in done.err


def test_of_several_definitions_one_must_be_named() -> None:
    write("a.yaml", named("one", "One"), named("two", "Two"))
    done = run("graph", "a.yaml")
    assert (done.code, done.out) == (1, "")
    assert done.err == "a.yaml has several definitions (one, two): choose one with --name\n"
    assert run("graph", "a.yaml", "--name", "two").out.startswith("two: Two ")
    done = run("graph", "a.yaml", "--name", "three")
    assert done.code == 1
    assert "no ResourceGraphDefinition named 'three', but: one, two" in done.err


def test_a_definition_can_be_chosen_from_a_folder() -> None:
    assert run("graph", EXAMPLES, "--name", "shop").out.startswith("shop: Shop ")


def test_a_file_without_definitions_is_a_problem() -> None:
    path = EXAMPLES / "instances" / "team-shop" / "outlet.yaml"
    done = run("graph", path)
    assert (done.code, done.err) == (1, f"no ResourceGraphDefinition in {path}\n")


def test_only_what_is_wrong_with_the_file_itself_is_shown() -> None:
    write("a.yaml", definition(resource("cm", config_map("${schema.spec.nam}"))))
    Path("b.yaml").write_text("a: [\n", encoding="utf-8")
    done = run("graph", "a.yaml")
    assert done.code == 1
    assert "a.yaml:1:" in done.err
    assert "b.yaml" not in done.err
    assert done.err.endswith("\n1 error found\n")


@pytest.mark.parametrize("form", FORMS)
def test_names_cannot_break_a_drawing(form: str) -> None:
    key = '</text><script>alert("1")</script>\x1b[31m\\'
    body = config_map("x", a=f"${{cm.data[{json.dumps(key)}]}}")
    graph = definition(resource("cm", config_map("y", **{key: "z"})), resource("last", body))
    graph["metadata"]["name"] = 'evil"\x1b[31m<b>'
    write("a.yaml", graph)
    done = run("graph", "a.yaml", "-o", form)
    assert done.code == 0
    assert done.out.replace("\n", "").isprintable()
    if form == "svg":
        ElementTree.fromstring(done.out)
        assert "<script>" not in done.out
    if form == "mermaid":
        assert "<script>" not in done.out
