import random
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from objects_testing.budgets import examples

from kro_gitops.source.files.foreign_files import chart_folders, is_foreign
from kro_gitops.source.files.selection import ChosenFiles, FileChooser, choose_files, ignore_paths
from kro_gitops.source.git.types import Entry
from kube_objects.errors import RefusedError
from kube_objects.problems import Severity

TREE = (
    *(".github/workflows/ci.yaml", ".sourceignore", "README.md", "app.yaml", "kustomization.yaml"),
    *("apps/shop/front.yaml", "apps/shop/back.yml", "apps/shop/notes.txt", "apps/.kroignore"),
    *("apps/blog/.sourceignore", "apps/blog/blog.json", "apps/blog/old.YAML", "apps-old/x.yaml"),
    *("charts/web/Chart.yaml", "charts/web/templates/x.yaml", "charts/web/crds/crd.yaml"),
    *("charts/web/values-prod.yaml", "docs/index.md"),
)


def entry(path: str, mode: str = "100644") -> Entry:
    return Entry(path, mode, "a" * 40, 10)


def tree(paths: Iterable[str] = TREE) -> list[Entry]:
    return [entry(path) for path in paths]


def names(chosen: ChosenFiles) -> list[str]:
    return [each.path for each in chosen.entries]


def chosen(
    *paths: str, ignore: str = "", files: dict[str, str] | None = None, of: Iterable[str] = TREE
) -> list[str]:
    contents = {path: text.encode() for path, text in (files or {}).items()}
    return names(choose_files(tree(of), paths, ignore, contents))


def test_without_paths_all_that_can_be_manifests_is_read() -> None:
    assert chosen() == [
        *("app.yaml", "apps/shop/front.yaml", "apps/shop/back.yml", "apps/blog/blog.json"),
        *("apps/blog/old.YAML", "apps-old/x.yaml", "charts/web/crds/crd.yaml"),
    ]


@pytest.mark.parametrize("path", ["apps", "./apps/", "apps//"])
def test_a_folder_is_not_the_one_whose_name_only_begins_so(path: str) -> None:
    assert chosen(path) == [
        *("apps/shop/front.yaml", "apps/shop/back.yml"),
        *("apps/blog/blog.json", "apps/blog/old.YAML"),
    ]


def test_files_can_be_named_and_paths_may_overlap() -> None:
    assert chosen("app.yaml", "apps/shop", "apps/shop/front.yaml") == [
        *("app.yaml", "apps/shop/front.yaml", "apps/shop/back.yml"),
    ]


def test_the_whole_repository_can_be_named() -> None:
    assert chosen(".") == chosen()


def test_a_path_that_leaves_the_repository_is_refused() -> None:
    with pytest.raises(RefusedError):
        chosen("../other")


def test_what_is_foreign_is_what_the_rules_for_all_commands_say() -> None:
    folders = ["", "a/", ".b/", "c/", "c/templates/", "c/charts/d/", "c/x/", "values/", "a/.b/c/"]
    files = ["x.yaml", ".x.yaml", "values.yaml", "values-x.yaml", "package.json", "my-Chart.yaml"]
    paths = [f"{folder}{file}" for folder in folders for file in (*files, "X.JSON", "x.md")]
    paths += ["c/Chart.yaml", "c/x/Chart.yaml"]
    charts = chart_folders(paths)
    assert chosen(of=paths) == [path for path in paths if not is_foreign(path, charts)]


def test_ignore_files_count_from_their_folder_and_the_nearer_wins() -> None:
    files = {
        ".sourceignore": "*.yml\n/app.yaml\n",
        "apps/.kroignore": "front.yaml\n*.json\n",
        "apps/blog/.sourceignore": "!blog.json\n",
    }
    assert chosen(files=files) == [
        *("apps/blog/blog.json", "apps/blog/old.YAML", "apps-old/x.yaml"),
        "charts/web/crds/crd.yaml",
    ]


def test_the_spec_has_the_last_word() -> None:
    files = {"apps/.kroignore": "*.json\n", "apps/blog/.sourceignore": "!old.YAML"}
    assert chosen("apps/blog", ignore="!*.json\n*.YAML", files=files) == ["apps/blog/blog.json"]


def test_the_usual_way_to_take_one_folder_only() -> None:
    assert chosen(ignore="# all\n/*\n# but\n!/apps\n/apps/*\n!/apps/shop/\n") == [
        *("apps/shop/front.yaml", "apps/shop/back.yml"),
    ]


def test_nothing_comes_back_from_a_folder_that_is_left_out() -> None:
    assert chosen("apps", ignore="apps/shop/\n!apps/shop/front.yaml") == [
        *("apps/blog/blog.json", "apps/blog/old.YAML"),
    ]


def test_in_one_folder_our_ignore_file_wins_over_fluxs() -> None:
    files = {"apps/.kroignore": "!front.yaml", "apps/.sourceignore": "*.yaml\n"}
    assert "apps/shop/front.yaml" in chosen("apps", files=files)


def test_ignore_files_written_on_windows_are_understood() -> None:
    text = b"\xef\xbb\xbffront.yaml\r\nback.yml\r\n"
    found = choose_files(tree(), ("apps/shop",), "", {"apps/.kroignore": text})
    assert names(found) == []


@pytest.mark.parametrize(
    ("paths", "wanted"),
    [
        ((), {".sourceignore", "apps/.kroignore", "apps/blog/.sourceignore"}),
        (("apps/shop",), {".sourceignore", "apps/.kroignore"}),
        (("./apps",), {".sourceignore", "apps/.kroignore", "apps/blog/.sourceignore"}),
        (("docs", "app.yaml"), {".sourceignore"}),
    ],
)
def test_ignore_files_below_and_above_the_paths_are_read(
    paths: tuple[str, ...], wanted: set[str]
) -> None:
    entries = [*tree(), entry("x.sourceignore"), entry("apps/shop/.kroignore", "120000")]
    assert {each.path for each in ignore_paths(entries, paths)} == wanted


def test_links_and_submodules_are_not_followed_which_is_said() -> None:
    entries = [
        entry("a/x.yaml"),
        entry("a/link.yaml", "120000"),
        entry("a/folder", "120000"),
        entry("a/notes.md", "120000"),
        entry("a/.hidden", "120000"),
        entry("a/module", "160000"),
        entry("b/module", "160000"),
        entry("a/quiet", "160000"),
    ]
    found = choose_files(entries, ("a",), "quiet", {})
    assert names(found) == ["a/x.yaml"]
    told = [(each.problem.code, each.origin.file) for each in found.findings]
    assert told == [("KG-S02", "a/link.yaml"), ("KG-S02", "a/folder"), ("KG-S03", "a/module")]
    assert {each.problem.severity for each in found.findings} == {Severity.WARNING}


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("app", "'apps'"),
        ("apps/shp", "'apps/shop'"),
        ("shop", "'apps/shop'"),
        ("nowhere/at/all", "at its top are 'README.md', 'app.yaml'"),
        ("linked/shop", "'linked' is a symbolic link"),
        ("module/shop", "'module' is a submodule"),
    ],
)
def test_a_path_that_is_missing_is_an_error_with_what_is_near(path: str, hint: str) -> None:
    entries = [*tree(), entry("linked", "120000"), entry("module", "160000")]
    found = choose_files(entries, (path, "apps/blog"), "", {})
    (finding,) = (each for each in found.findings if each.problem.severity is Severity.ERROR)
    assert finding.problem.code == "path-not-found"
    assert f"'{path}'" in finding.problem.summary
    assert hint in finding.problem.hint
    assert names(found) == ["apps/blog/blog.json", "apps/blog/old.YAML"]


def test_a_pattern_that_means_nothing_is_told_with_its_line() -> None:
    found = choose_files(tree(), (), "", {"apps/.kroignore": b"front.yaml\n\\\n"})
    (finding,) = found.findings
    assert finding.problem.code == "KG-S04"
    assert (finding.origin.file, finding.origin.line) == ("apps/.kroignore", 2)
    assert "apps/shop/front.yaml" not in names(found)


def test_too_many_patterns_are_an_error() -> None:
    text = "\n".join(f"x{number}" for number in range(2_001))
    found = choose_files(tree(), (), text, {})
    assert [each.problem.code for each in found.findings] == ["too-many-patterns"]


def test_a_hostile_pattern_costs_little() -> None:
    started = time.process_time()
    entries = tree(f"{'a' * 200}{number}.yaml" for number in range(200))
    choose_files(entries, (), "*a" * 100 + "b\n" + "**/a/" * 50 + "c\n[a-" * 3, {})
    assert time.process_time() - started < 5


def test_a_hundred_thousand_files_are_chosen_while_nobody_waits() -> None:
    entries = tree(f"t{n % 50}/a{n % 500}/e{n % 7}/f-{n}.yaml" for n in range(100_000))
    started = time.process_time()
    found = choose_files(entries, (), "*.json\n/t3/\n", {"t5/.kroignore": b"*.yaml\n"})
    assert len(found.entries) == 96_000
    assert time.process_time() - started < 2  # a fourth of it on an idle machine


PARTS = ("a", "b", "ab", "a b", "c", "é", "a+b")
PATTERN_PARTS = (*PARTS, "*", "**", "?", "[ab]", "[!a]", "a*", "*b", "[a-c]", "x.yaml", "*.yaml")
SEEDS = range(30)


def random_pattern(rng: random.Random) -> str:
    middle = "/".join(rng.choice(PATTERN_PARTS) for _ in range(rng.choice((1, 1, 1, 2, 2, 3))))
    before = rng.choice(("", "", "", "!", "!", "/", "!/", "\\", "#"))
    return before + middle + rng.choice(("", "", "", "/", "/", " ", "\\ ", "/**"))


def random_tree(rng: random.Random) -> tuple[set[str], dict[str, str], list[str]]:
    files = {
        "/".join([*(rng.choice(PARTS) for _ in range(rng.randrange(4))), file])
        for file in ("x.yaml", "y.yaml", "a.yaml")
        for _ in range(8)
    }
    folders = sorted({file.rpartition("/")[0] for file in files} | {""})
    ignore_files = {
        f"{folder}/.kroignore".lstrip("/"): "".join(
            f"{random_pattern(rng)}\n" for _ in range(rng.randrange(1, 5))
        )
        for folder in rng.sample(folders, min(3, len(folders)))
    }
    # On its command line git takes blanks and '#' for parts of a pattern, in files not.
    own = [random_pattern(rng).strip(" #\\") for _ in range(rng.randrange(3))]
    return files, ignore_files, own


def kept_by_git(
    root: Path, files: set[str], ignore_files: dict[str, str], own: list[str]
) -> list[str]:
    for path, text in (*ignore_files.items(), *((file, "") for file in files)):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    subprocess.run(["git", "init", "-q", "."], cwd=root, check=True)
    asked = ["git", "ls-files", "-z", "--others", "--exclude-per-directory=.kroignore"]
    asked += [f"--exclude={pattern}" for pattern in own]
    printed = subprocess.run(asked, cwd=root, check=True, capture_output=True).stdout
    return sorted(set(printed.decode().split("\0")) & files)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_left_out_is_what_git_leaves_out(tmp_path: Path, seed: int) -> None:
    files, ignore_files, own = random_tree(random.Random(seed))
    ours = chosen(ignore="\n".join(own), files=ignore_files, of=sorted(files))
    assert sorted(ours) == kept_by_git(tmp_path, files, ignore_files, own)


@settings(max_examples=examples(60))
@given(st.data())
def test_commit_after_commit_is_chosen_as_each_by_itself(data: st.DataObject) -> None:
    chooser = FileChooser()
    modes = st.sampled_from(["100644", "100755", "120000", "160000"])
    known = {path: entry(path) for path in TREE}
    for _ in range(3):
        edited = data.draw(st.lists(st.tuples(st.sampled_from(TREE), modes), max_size=3))
        known |= {path: Entry(path, mode, "b" * 40, 11) for path, mode in edited}
        gone = data.draw(st.sets(st.sampled_from(TREE), max_size=1))
        entries = [each for path, each in known.items() if path not in gone]
        paths = data.draw(st.sampled_from([(), ("apps",), ("apps/shop", "nowhere")]))
        asked = paths, data.draw(st.sampled_from(["", "*.yml"]))
        files = data.draw(st.sampled_from([{}, {"apps/.kroignore": b"shop"}]))
        found = chooser.choose(entries, *asked, files)
        expected = choose_files(entries, *asked, files)
        assert found == expected
        assert all(a is b for a, b in zip(found.entries, expected.entries, strict=True))
