import os
from pathlib import Path

import pytest

from kro_gitops.cli.inputs import FileSet, read_paths

TEXT = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(*names: str, content: bytes = TEXT) -> None:
    for name in names:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def codes(found: FileSet) -> list[tuple[str, str]]:
    return [(finding.origin.file, finding.problem.code) for finding in found.findings]


def test_files_of_a_folder_are_named_from_here_in_the_order_of_their_names() -> None:
    write("repo/b.yaml", "repo/a.yml", "repo/sub/c.json")
    assert list(read_paths(["repo"]).contents) == ["repo/a.yml", "repo/b.yaml", "repo/sub/c.json"]
    assert "repo/a.yml" in read_paths(["./repo/../repo"]).contents


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("repo/README.md", id="another ending"),
        pytest.param("repo/.hidden.yaml", id="a hidden file"),
        pytest.param("repo/.github/workflows/ci.yaml", id="a hidden folder"),
        pytest.param("repo/kustomization.yaml", id="a file of another tool"),
        pytest.param("repo/chart/templates/x.yaml", id="a template of a chart"),
    ],
)
def test_what_is_not_meant_for_a_cluster_is_passed_over_in_a_folder(name: str) -> None:
    write("repo/chart/Chart.yaml", "repo/a.yaml", name)
    found = read_paths(["repo"])
    assert list(found.contents) == ["repo/a.yaml"]
    assert found.findings == []


@pytest.mark.parametrize(
    ("path", "names"),
    [
        pytest.param("notes.txt", ["notes.txt"], id="a file of another ending"),
        pytest.param(".cache/repo/a.yaml", [".cache/repo/a.yaml"], id="in a hidden folder"),
        pytest.param(".cache/repo", [".cache/repo/a.yaml"], id="a folder in a hidden one"),
    ],
)
def test_what_was_named_is_read_whatever_its_name(path: str, names: list[str]) -> None:
    write("notes.txt", ".cache/repo/a.yaml")
    found = read_paths([path])
    assert list(found.contents) == names
    assert found.findings == []


def test_a_file_of_a_chart_is_read_if_it_is_named() -> None:
    write("chart/Chart.yaml", "chart/templates/x.yaml")
    assert list(read_paths(["chart/templates/x.yaml"]).contents) == ["chart/templates/x.yaml"]


@pytest.mark.parametrize(
    "paths",
    [
        pytest.param(["a.yaml", "a.yaml"], id="the same path"),
        pytest.param(["a.yaml", "./a.yaml"], id="another spelling"),
        pytest.param([".", "sub/../a.yaml"], id="by its folder, too"),
        pytest.param(["a.yaml", "link.yaml"], id="by a link"),
    ],
)
def test_a_file_is_read_once_however_often_it_is_named(paths: list[str]) -> None:
    write("a.yaml")
    Path("sub").mkdir()
    Path("link.yaml").symlink_to("a.yaml")
    assert list(read_paths(paths).contents) == ["a.yaml"]


def test_a_file_is_known_by_every_spelling_of_its_path(folder: Path) -> None:
    write("sub/a.yaml")
    found = read_paths(["sub"])
    assert found.name_of(str(folder / "sub" / "a.yaml")) == "sub/a.yaml"
    assert found.name_of("sub/../sub/a.yaml") == "sub/a.yaml"


@pytest.mark.parametrize("path", ["nowhere.yaml", "nowhere/"])
def test_what_does_not_exist_is_reported(path: str) -> None:
    assert codes(read_paths([path])) == [(path, "no-such-file")]


def test_links_that_lead_out_of_a_folder_are_not_followed(folder: Path) -> None:
    write("secret.yaml", "repo/a.yaml", "outside/b.yaml")
    Path("repo/out.yaml").symlink_to(folder / "secret.yaml")
    Path("repo/folder").symlink_to(folder / "outside")
    found = read_paths(["repo"])
    assert list(found.contents) == ["repo/a.yaml"]
    assert found.findings == []


@pytest.mark.parametrize("target", ["nowhere.yaml", "loop.yaml"], ids=["broken", "to itself"])
def test_a_link_that_leads_nowhere_is_reported(target: str) -> None:
    Path("repo").mkdir()
    Path("repo/loop.yaml").symlink_to(target)
    assert codes(read_paths(["repo"])) == [("repo/loop.yaml", "unreadable-file")]


def test_a_pipe_is_never_opened() -> None:
    Path("repo").mkdir()
    os.mkfifo("repo/pipe.yaml")
    assert read_paths(["repo"]) == FileSet()
    named = read_paths(["repo/pipe.yaml"])
    assert named.contents == {}
    assert [f.problem.summary for f in named.findings] == ["'repo/pipe.yaml' is not a regular file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_file_that_may_not_be_read_is_reported() -> None:
    write("a.yaml")
    Path("a.yaml").chmod(0)
    assert codes(read_paths(["a.yaml"])) == [("a.yaml", "unreadable-file")]


def test_of_a_large_file_only_the_beginning_is_read() -> None:
    write("large.yaml", content=b"#" * (3 << 20))
    assert len(read_paths(["large.yaml"]).contents["large.yaml"]) == (1 << 20) + 1
