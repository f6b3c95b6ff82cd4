import json
from pathlib import Path

import pytest

from tests.builders import config_map, definition, resource
from tests.command import EXAMPLES, run

GOOD = (EXAMPLES / "rgds" / "webapp.yaml").read_bytes()
BAD = GOOD.replace(b"${schema.spec.replicas}", b"${schema.spec.replcas}")
SECRET = b"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: b}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_examples_are_clean() -> None:
    done = run("validate", "--strict", EXAMPLES)
    assert (done.code, done.out) == (0, "")
    assert done.err == "0 errors, 0 warnings: 5 definitions and 6 instances in 10 files\n"


def test_an_error_fails_the_run_and_is_shown_with_its_place() -> None:
    Path("webapp.yaml").write_bytes(BAD)
    done = run("validate", ".")
    assert done.code == 1
    assert done.out.startswith(
        "webapp.yaml:47:35: error[undefined-field]: undefined field 'replcas'\n"
        "   47 |           replicas: ${schema.spec.replcas}\n"
        "      |                                   ^^^^^^^\n"
        "  hint: did you mean 'replicas'?\n"
    )
    assert done.err == "1 error, 0 warnings: 1 definition and 0 instances in 1 file\n"


@pytest.mark.parametrize(
    ("words", "code"), [(["validate", "."], 0), (["validate", "--strict", "."], 1)]
)
def test_a_warning_fails_a_strict_run_only(words: list[str], code: int) -> None:
    Path("secret.yaml").write_bytes(SECRET)
    done = run(*words)
    assert done.code == code
    assert "warning[KG-S01]" in done.out
    assert done.err.startswith("0 errors, 1 warning: ")


@pytest.mark.parametrize("form", ["text", "json", "github", "sarif"])
def test_the_exit_code_does_not_depend_on_the_form(form: str) -> None:
    Path("webapp.yaml").write_bytes(BAD)
    assert run("validate", "-o", form, ".").code == 1
    Path("webapp.yaml").write_bytes(GOOD)
    assert run("validate", "-o", form, ".").code == 0


def test_standard_input_is_read_like_a_file() -> None:
    assert run("validate", "-", stdin=GOOD).code == 0
    done = run("validate", "-", "-o", "json", stdin=BAD)
    assert done.code == 1
    assert [(each["file"], each["line"]) for each in done.json] == [("<stdin>", 47)]


def test_standard_input_and_files_are_one_repository() -> None:
    Path("webapp.yaml").write_bytes(GOOD)
    shop = (EXAMPLES / "instances" / "team-shop" / "front.yaml").read_bytes()
    done = run("validate", "webapp.yaml", "-", stdin=shop.replace(b"replicas: 3", b"replicas: 99"))
    assert "<stdin>:8:13: error[out-of-range]" in done.out


def test_a_file_over_the_limit_is_reported() -> None:
    Path("large.yaml").write_bytes(b"# " + b"x" * (1 << 20))
    done = run("validate", ".", "-o", "json")
    assert done.code == 1
    assert [each["code"] for each in done.json] == ["file-too-large"]


def test_folders_hold_one_repository_together() -> None:
    done = run("validate", EXAMPLES / "rgds", EXAMPLES / "instances")
    assert (done.code, done.out) == (0, "")


def test_findings_are_sorted_as_people_read() -> None:
    for name in ("b.yaml", "a.yaml"):
        Path(name).write_text("a: 1\na: 2\na: 3\n", encoding="utf-8")
    found = run("validate", ".", "-o", "json").json
    places = [(each["file"], each["line"], each["column"]) for each in found]
    assert places == sorted(places)
    assert len(places) > 4


def test_features_of_the_cluster_can_be_switched_on() -> None:
    text = GOOD.replace(b"${schema.spec.replicas}", b"${omit()}")
    Path("webapp.yaml").write_bytes(text)
    assert "error[feature-gate]" in run("validate", ".").out
    assert run("validate", "--feature", "CELOmitFunction", ".").code == 0


def test_dimensions_can_be_limited() -> None:
    lists = [{"a": "${['x']}"}, {"b": "${['y']}"}]
    grid = resource("grid", config_map("${a}-${b}"), forEach=lists)
    Path("grid.yaml").write_text(json.dumps(definition(grid)), encoding="utf-8")
    assert run("validate", "--max-dimensions", "2", ".").code == 0
    assert "error[too-many-dimensions]" in run("validate", "--max-dimensions", "1", ".").out
