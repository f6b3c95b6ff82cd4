from dataclasses import dataclass
from functools import partial
from hashlib import sha256

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from objects_testing.budgets import examples

from kro_gitops.source.controllers.read_budget import ReadBudget
from kro_gitops.source.files.budget import Amount
from kro_gitops.source.files.manifests import SourceLimits
from kro_gitops.source.files.revision import Library, Snapshot
from kube_objects.errors import RefusedError
from kube_objects.problems import Finding, Origin, Problem, Severity, Spot

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata: {a: 'VALUE'}\n"


@dataclass(frozen=True)
class File:
    path: str
    id: str


def config(name: str, value: str = "1") -> bytes:
    return CONFIG.replace("NAME", name).replace("VALUE", value).encode()


def snapshot(library: Library, files: dict[str, bytes], commit: str = "c1") -> Snapshot:
    """Take one as git would give it: the id of a file follows from its content."""
    listed: list[File] = [File(path, str(hash(text))) for path, text in files.items()]
    unread = library.unread(listed)
    contents = {str(hash(text)): text for text in files.values() if str(hash(text)) in unread}
    return library.snapshot(commit, listed, contents)


def test_items_know_their_file_and_what_they_say() -> None:
    found = snapshot(Library(), {"a.yaml": config("one"), "b/c.yaml": config("two")})
    assert [(item.ref.name, item.path) for item in found.items] == [
        ("one", "a.yaml"),
        ("two", "b/c.yaml"),
    ]
    assert found.commit == "c1"
    assert not found.errors


def test_a_file_that_did_not_change_is_not_read_again() -> None:
    library = Library()
    first = snapshot(library, {"a.yaml": config("one"), "b.yaml": config("two")})
    changed = {"a.yaml": config("one"), "b.yaml": config("two", "2")}
    assert library.unread([File("a.yaml", str(hash(changed["a.yaml"])))]) == set()
    second = snapshot(library, changed, "c2")
    assert first.items[0] is second.items[0]
    assert first.items[1].digest != second.items[1].digest


def test_the_same_content_under_another_name_is_another_item_that_says_the_same() -> None:
    library = Library()
    first = snapshot(library, {"a.yaml": config("one")})
    second = snapshot(library, {"moved.yaml": config("one")})
    assert first.items[0].digest == second.items[0].digest
    assert second.items[0].path == "moved.yaml"


def test_an_object_that_stands_twice_is_wanted_once_and_told() -> None:
    found = snapshot(Library(), {"a.yaml": config("one"), "b.yaml": config("one", "2")})
    assert [item.path for item in found.items] == ["a.yaml"]
    [error] = found.errors
    assert error.problem.code == "duplicate-object"
    assert error.origin.file == "b.yaml"
    assert found.errors


def test_when_the_first_of_two_goes_the_other_takes_its_place() -> None:
    library = Library()
    snapshot(library, {"a.yaml": config("one"), "b.yaml": config("one", "2")})
    found = snapshot(library, {"b.yaml": config("one", "2")})
    assert [item.path for item in found.items] == ["b.yaml"]
    assert not found.errors


def test_a_file_that_cannot_be_read_leaves_the_others() -> None:
    found = snapshot(Library(), {"a.yaml": b"a: [", "b.yaml": config("two")})
    assert [item.ref.name for item in found.items] == ["two"]
    assert [error.origin.file for error in found.errors] == ["a.yaml"]


def test_warnings_do_not_make_it_unsound() -> None:
    warning = Problem("refused-path", "not read", severity=Severity.WARNING)
    library = Library()
    found = library.snapshot("c", [], {}, [Finding(warning, Origin("x", 1, 1))])
    assert not found.errors
    assert len(found.findings) == 1


def test_a_document_that_cannot_be_trusted_is_told_and_not_wanted() -> None:
    twice = config("one") + b"data: {a: '2'}\n"
    found = snapshot(Library(), {"a.yaml": twice, "b.yaml": config("two")})
    assert [item.ref.name for item in found.items] == ["two"]
    assert [error.problem.code for error in found.errors] == ["duplicate-key"]


@pytest.mark.parametrize("value", ["*hunter2", "!hunter2 x", "!!int hunter2", "[hunter2"])
def test_what_is_wrong_with_a_secret_is_not_quoted(value: str) -> None:
    text = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: a}}\nstringData:\n  word: {value}\n"
    found = snapshot(Library(), {"a.yaml": text.encode()})
    assert found.errors
    told = [f"{e.problem.summary} {e.problem.message} {e.problem.hint}" for e in found.errors]
    assert not any("hunter2" in each for each in told)
    assert all(each.origin.file == "a.yaml" and each.origin.line >= 5 for each in found.errors)


NAMES = ("one", "two", "three")
TEXTS = st.one_of(
    st.builds(config, st.sampled_from(NAMES), st.sampled_from("12")),
    st.builds(
        lambda one, other: config(one) + b"---\n" + config(other),
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
    ),
    st.sampled_from(
        [
            b"",
            b"kind: [\n",
            b"- a\n",
            b"# " + b"x" * 300,
            config("one").replace(b"ConfigMap", b"Secret"),
            config("one").replace(b"v1", b"v2"),
        ]
    ),
)
FILES = st.dictionaries(st.sampled_from(["a.yaml", "b.yaml", "c/d.yaml"]), TEXTS)


def told(found: Snapshot) -> list[object]:
    items = [(item.ref, item.digest, item.path, item.origin()) for item in found.items]
    return [items, found.findings, found.commit]


@settings(max_examples=examples(100))
@given(st.lists(FILES, min_size=2, max_size=5), st.sampled_from([2, 3, 100]), st.booleans())
def test_commit_after_commit_gives_what_each_gives_by_itself(
    commits: list[dict[str, bytes]], most: int, is_small: bool
) -> None:
    limits = SourceLimits(files=most, total_bytes=400 if is_small else 10_000, documents=most)
    library = Library(limits)
    kept: dict[tuple[str, bytes], File] = {}
    for files in commits:
        # As in a listing that follows from another: what did not change is the same object.
        entries = [
            kept.setdefault((path, text), File(path, sha256(text).hexdigest()))
            for path, text in sorted(files.items())
        ]
        contents = {sha256(text).hexdigest(): text for text in files.values()}
        found = library.snapshot("c", entries, contents)
        assert told(found) == told(Library(limits).snapshot("c", entries, contents))
        assert library.unread(entries) == set()
        gone = [each for each in kept.values() if each not in entries]
        assert library.unread(gone) == {each.id for each in gone}


def test_a_revision_beyond_the_budget_is_not_parsed_and_the_former_one_stays() -> None:
    budget = ReadBudget(Amount(documents=6, size=10_000))
    library = Library(reserve=partial(budget.reserve, "team/repo"))
    first = snapshot(library, {"a.yaml": config("one"), "b.yaml": config("two")})
    many = b"\n---\n".join(config(f"c{number}") for number in range(3))
    with pytest.raises(RefusedError, match="namespace team would have 4 documents, and may have 3"):
        snapshot(library, {"a.yaml": config("one"), "c.yaml": many})
    again = snapshot(library, {"a.yaml": config("one"), "b.yaml": config("two")})
    assert again.items == first.items


def test_an_object_keeps_its_values_though_it_is_packed() -> None:
    spec = {"i": 2**63 - 1, "f": 1.5, "t": "\u00e4", "b": True, "z": None, "l": [{}, []]}
    head = {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a"}}
    [item] = snapshot(Library(), {"a.yaml": yaml.safe_dump({**head, "spec": spec}).encode()}).items
    assert item.object == {**head, "spec": spec}


def test_positions_are_found_though_the_text_is_packed() -> None:
    content = "# a comment: \u00e4\n".encode() + config("one") + b"\n---\n" + config("two")
    library = Library()
    items = snapshot(library, {"a.yaml": content}).items
    library.release()
    origins = [item.origin(Spot(("metadata", "name"))) for item in items]
    lines = content.decode().splitlines()
    assert [lines[at.line - 1][at.column - 1 :].strip(" }") for at in origins] == ["one", "two"]
