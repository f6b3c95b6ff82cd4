"""What a mirror answers about repositories made here."""

import os
from pathlib import Path

import pytest

from kro_gitops.errors import Unavailable, UserError
from kro_gitops.source.api.types import WantedRef
from kro_gitops.source.git.credentials import Credentials, GitHubApp
from kro_gitops.source.git.mirror import Mirror, Mirrors
from kro_gitops.source.git.revisions import Chosen, choose, patterns
from kro_gitops.source.git.types import Remote
from kube_objects.errors import RefusedError
from tests.unit.source.git.origins import Origin, branch


def wanted(mirror: Mirror, ref: WantedRef) -> Chosen:
    return choose(mirror.ask(patterns(ref)), ref)


def content(mirror: Mirror, commit: str) -> dict[str, bytes]:
    entries = mirror.tree(commit)
    found = mirror.read([entry.id for entry in entries])
    return {entry.path: found[entry.id] for entry in entries}


def test_the_default_branch_is_found_fetched_and_read(origin: Origin, mirror: Mirror) -> None:
    commit = origin.commit({"a.yaml": "a: 1\n", "apps/b.yaml": "b: 2\n", "empty": ""})
    chosen = wanted(mirror, WantedRef())
    assert chosen.revision() == f"main@sha1:{commit}"
    assert not mirror.has(commit)
    mirror.fetch(chosen)
    assert mirror.has(commit)
    assert content(mirror, commit) == {"a.yaml": b"a: 1\n", "apps/b.yaml": b"b: 2\n", "empty": b""}


def test_a_listing_tells_modes_and_sizes(origin: Origin, mirror: Mirror) -> None:
    (origin.folder / "link").symlink_to("/etc/passwd")
    (origin.folder / "run.sh").write_text("x")
    (origin.folder / "run.sh").chmod(0o755)
    origin.commit({"a.yaml": "12345"})
    head = origin.git("rev-parse", "HEAD")
    origin.git("update-index", "--add", "--cacheinfo", f"160000,{head},vendor")
    origin.git("commit", "-q", "-m", "submodule")
    commit = origin.git("rev-parse", "HEAD")
    mirror.fetch(branch(commit))
    listed = {entry.path: (entry.mode, entry.size) for entry in mirror.tree(commit)}
    assert listed == {
        "a.yaml": ("100644", 5),
        "link": ("120000", 11),
        "run.sh": ("100755", 1),
        "vendor": ("160000", -1),
    }


def test_a_link_is_read_as_its_text_and_never_followed(origin: Origin, mirror: Mirror) -> None:
    (origin.folder / "link").symlink_to("/etc/passwd")
    commit = origin.commit({})
    mirror.fetch(branch(commit))
    assert content(mirror, commit) == {"link": b"/etc/passwd"}


def test_a_commit_tells_who_when_and_why(origin: Origin, mirror: Mirror) -> None:
    first = origin.commit({"a": "1"})
    commit = origin.commit({"a": "2"}, "Subject\nstill subject\n\nBody\n\nmore")
    mirror.fetch(branch(commit))
    found = mirror.commit(commit)
    assert (found.author, found.author_email, found.authored) == (
        *("Ada", "ada@example.org", "2024-05-01T08:00:00Z"),
    )
    assert (found.committer, found.committed) == ("Carl", "2024-05-02T10:00:00Z")
    assert (found.subject, found.body) == ("Subject still subject", "Body\n\nmore")
    assert found.parents == (first,)


def test_an_annotated_tag_is_fetched_with_its_object(origin: Origin, mirror: Mirror) -> None:
    commit = origin.commit({"a": "1"})
    origin.git("tag", "-a", "v1.0.0", "-m", "first")
    chosen = wanted(mirror, WantedRef(tag="v1.0.0"))
    assert chosen.commit == commit
    mirror.fetch(chosen)
    assert mirror.has(commit)
    assert mirror.has(chosen.tag_object)
    assert content(mirror, commit) == {"a": b"1"}


def test_a_version_range_finds_the_highest_tag(origin: Origin, mirror: Mirror) -> None:
    origin.commit({"a": "1"})
    origin.git("tag", "v1.0.0")
    newest = origin.commit({"a": "2"})
    origin.git("tag", "-a", "v1.2.0", "-m", "second")
    origin.commit({"a": "3"})
    chosen = wanted(mirror, WantedRef(semver="^1.0"))
    mirror.fetch(chosen)
    assert content(mirror, newest) == {"a": b"2"}


def test_a_ref_beside_branches_and_tags_is_fetched(origin: Origin, mirror: Mirror) -> None:
    commit = origin.commit({"a": "pull request"})
    origin.git("update-ref", "refs/pull/7/head", commit)
    mirror.fetch(wanted(mirror, WantedRef(name="refs/pull/7/head")))
    assert content(mirror, commit) == {"a": b"pull request"}


def test_a_commit_is_fetched_by_its_id(origin: Origin, mirror: Mirror) -> None:
    old = origin.commit({"a": "1"})
    origin.commit({"a": "2"})
    mirror.fetch(Chosen("", old))
    assert content(mirror, old) == {"a": b"1"}


def test_an_id_that_nobody_has_is_the_authors_mistake(origin: Origin, mirror: Mirror) -> None:
    origin.commit({"a": "1"})
    with pytest.raises(UserError) as caught:
        mirror.fetch(Chosen("", "1" * 40))
    assert caught.value.code == "commit-not-found"


def test_an_id_of_something_else_is_no_commit(origin: Origin, mirror: Mirror) -> None:
    origin.commit({"a": "1"})
    with pytest.raises(UserError) as caught:
        mirror.fetch(Chosen("", origin.git("rev-parse", "HEAD:a")))
    assert caught.value.code == "not-a-commit"


def test_an_older_commit_of_a_branch_is_found_in_it(origin: Origin, mirror: Mirror) -> None:
    old = origin.commit({"a": "1"})
    for number in range(3):
        origin.commit({"a": f"later {number}"})
    mirror.fetch(wanted(mirror, WantedRef(branch="main", commit=old)))
    assert content(mirror, old) == {"a": b"1"}


def test_a_commit_of_another_branch_is_refused(origin: Origin, mirror: Mirror) -> None:
    origin.commit({"a": "1"})
    origin.git("checkout", "-q", "-b", "other")
    elsewhere = origin.commit({"a": "2"})
    with pytest.raises(UserError) as caught:
        mirror.fetch(wanted(mirror, WantedRef(branch="main", commit=elsewhere)))
    assert caught.value.code == "commit-not-in-branch"
    assert not mirror.has(elsewhere)


def test_a_branch_that_moved_on_meanwhile_still_gives_what_was_chosen(
    origin: Origin, mirror: Mirror
) -> None:
    origin.commit({"a": "1"})
    chosen = wanted(mirror, WantedRef(branch="main"))
    origin.commit({"a": "2"})
    mirror.fetch(chosen)
    assert content(mirror, chosen.commit) == {"a": b"1"}


def test_a_tag_that_moved_meanwhile_is_asked_again(origin: Origin, mirror: Mirror) -> None:
    origin.commit({"a": "1"})
    origin.git("tag", "v1")
    chosen = wanted(mirror, WantedRef(tag="v1"))
    origin.commit({"a": "2"})
    origin.git("tag", "--force", "v1")
    with pytest.raises(Unavailable) as caught:
        mirror.fetch(chosen)
    assert caught.value.code == "git-ref-moved"
    assert not mirror.has(chosen.commit)


def test_changed_paths_are_told_between_cut_off_commits(origin: Origin, mirror: Mirror) -> None:
    old = origin.commit({"a": "1", "b": "1", "c": "1"})
    mirror.fetch(branch(old))
    origin.commit({"b": "between"})
    (origin.folder / "c").unlink()
    new = origin.commit({"b": "2", "d/e": "1"})
    mirror.fetch(branch(new))
    assert mirror.changed_paths(old, new) == frozenset({"b", "c", "d/e"})
    assert mirror.changed_paths("1" * 40, new) is None


@pytest.mark.parametrize("between", [0, 3, 60])
def test_an_ancestor_is_found_however_deep(origin: Origin, mirror: Mirror, between: int) -> None:
    old = origin.commit({"a": "1"})
    mirror.fetch(branch(old))
    for number in range(between):
        origin.commit({}, f"between {number}")
    new = origin.commit({"a": "2"})
    mirror.fetch(branch(new))
    assert mirror.is_ancestor(old, new) is True
    assert mirror.is_ancestor(new, old) is False


def test_a_force_push_is_noticed(origin: Origin, mirror: Mirror) -> None:
    origin.commit({"a": "1"})
    old = origin.commit({"a": "2"})
    mirror.fetch(branch(old))
    origin.git("reset", "-q", "--hard", "HEAD~1")
    new = origin.commit({"a": "3"})
    mirror.fetch(branch(new))
    assert mirror.is_ancestor(old, new) is False


def test_ancestry_is_unknown_while_the_remote_is_away(origin: Origin, mirror: Mirror) -> None:
    old = origin.commit({"a": "1"})
    origin.commit({"a": "2"})
    new = origin.commit({"a": "3"})
    mirror.fetch(branch(new))
    origin.folder.rename(origin.folder.with_name("away"))
    assert mirror.is_ancestor(old, new) is None


def test_blame_shows_no_token_of_a_message(origin: Origin, mirror: Mirror) -> None:
    commit = origin.commit({"a": "1\n"}, f"Use glpat-{'x1Y2' * 6}")
    mirror.fetch(branch(commit))
    assert mirror.blame(commit, "a", 1).subject == "Use ***"


@pytest.mark.parametrize("filters", [False, True])
def test_blame_names_the_commit_that_changed_a_line(
    origin: Origin, mirrors: Mirrors, filters: bool
) -> None:
    first = origin.commit({"a": "one\ntwo\n"}, "first")
    second = origin.commit({"a": "one\nTWO\n"}, "second")
    last = origin.commit({"b": "x"}, "third")
    mirror = mirrors.of(Remote(origin.url, filters_blobs=filters))
    mirror.fetch(branch(last))
    assert mirror.blame(last, "a", 1).id == first
    assert mirror.blame(last, "a", 2).subject == "second"
    assert mirror.blame(last, "a", 2).id == second
    with pytest.raises(UserError, match="line 3"):
        mirror.blame(last, "a", 3)


def test_with_a_filter_only_the_files_that_are_read_come(origin: Origin, mirrors: Mirrors) -> None:
    commit = origin.commit({f"{number}.yaml": f"n: {number}\n" for number in range(20)})
    mirror = mirrors.of(Remote(origin.url, filters_blobs=True))
    mirror.fetch(branch(commit))
    entries = {entry.path: entry for entry in mirror.tree(commit)}
    assert {entry.size for entry in entries.values()} == {-1}
    two = [entries["3.yaml"].id, entries["7.yaml"].id]
    assert mirror.read(two) == {two[0]: b"n: 3\n", two[1]: b"n: 7\n"}
    origin.folder.rename(origin.folder.with_name("away"))
    assert mirror.read(two) == {two[0]: b"n: 3\n", two[1]: b"n: 7\n"}
    with pytest.raises(Unavailable):
        mirror.read([entries["4.yaml"].id])


def test_a_repository_with_sha256_ids_is_read(tmp_path: Path) -> None:
    origin = Origin(tmp_path / "origin", "--object-format=sha256")
    first = origin.commit({"a": "1"})
    commit = origin.commit({"a": "2"})
    mirror = origin.mirrors(tmp_path / "mirrors").of(Remote(origin.url))
    chosen = wanted(mirror, WantedRef())
    assert chosen.revision() == f"main@sha256:{commit}"
    mirror.fetch(chosen)
    assert content(mirror, commit) == {"a": b"2"}
    assert mirror.is_ancestor(first, commit)
    mirror.close()


def test_a_plain_folder_can_be_a_remote(origin: Origin, tmp_path: Path) -> None:
    commit = origin.commit({"a": "1"})
    url = str(origin.folder)
    mirrors = Mirrors(tmp_path / "mirrors", type(origin.rules())(local_urls={url}))
    mirror = mirrors.of(Remote(url))
    mirror.fetch(branch(commit))
    assert content(mirror, commit) == {"a": b"1"}
    mirrors.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_folder_of_another_owner_is_served_if_it_was_named(
    origin: Origin, mirror: Mirror
) -> None:
    commit = origin.commit({"a": "1"})
    for each in (origin.folder, *origin.folder.rglob("*")):
        os.chown(each, 12345, 12345)
    mirror.fetch(branch(commit))
    assert content(mirror, commit) == {"a": b"1"}


def test_what_was_not_fetched_is_not_there_yet(origin: Origin, mirror: Mirror) -> None:
    commit = origin.commit({"a": "1"})
    with pytest.raises(Unavailable) as caught:
        mirror.tree(commit)
    assert caught.value.code == "git-not-fetched"
    mirror.fetch(branch(commit))
    assert mirror.is_ancestor(commit, "1" * 40) is None
    with pytest.raises(Unavailable) as caught:
        mirror.read(["1" * 40])
    assert caught.value.code == "git-not-fetched"
    assert content(mirror, commit) == {"a": b"1"}


def test_a_missing_repository_says_so(tmp_path: Path, origin: Origin) -> None:
    mirror = origin.mirrors(tmp_path / "mirrors").of(Remote(origin.url))
    origin.folder.rename(tmp_path / "away")
    with pytest.raises(Unavailable) as caught:
        mirror.ask(["HEAD"])
    assert caught.value.code == "git-repository-not-found"


def test_mirrors_are_shared_by_url_and_login(origin: Origin, mirrors: Mirrors) -> None:
    plain = mirrors.of(Remote(origin.url))
    assert mirrors.of(Remote(origin.url, timeout=5)) is plain
    someone = Credentials("ada", "right")
    assert mirrors.of(Remote(origin.url, someone)) is not plain
    other = Remote(origin.url, Credentials("ada", "wrong"))
    assert mirrors.of(other) is not mirrors.of(Remote(origin.url, someone))


def test_an_apps_mirror_survives_its_tokens() -> None:
    app = GitHubApp("1", b"key", "2")
    first = Remote("https://h/x", Credentials("x-access-token", "t1", app=app))
    later = Remote("https://h/x", Credentials("x-access-token", "t2", app=app))
    assert first.identity == later.identity
    assert first.identity != Remote("https://h/x").identity


def test_forgotten_mirrors_are_gone_also_those_of_earlier_runs(
    origin: Origin, tmp_path: Path
) -> None:
    commit = origin.commit({"a": "1"})
    root = tmp_path / "mirrors"
    earlier = origin.mirrors(root).of(Remote(origin.url, timeout=1))
    earlier.fetch(branch(commit))
    earlier.close()
    mirrors = origin.mirrors(root)
    kept = mirrors.of(Remote(origin.url, filters_blobs=True))
    kept.fetch(branch(commit))
    mirrors.forget({kept.remote.identity: [""]})
    assert not earlier.path.exists()
    assert kept.has(commit)
    mirrors.forget({})
    assert [each.name for each in root.iterdir()] == ["home"]


def test_files_above_the_limit_are_refused(origin: Origin, tmp_path: Path) -> None:
    commit = origin.commit({"big": "x" * 200, "small": "x"})
    mirror = origin.mirrors(tmp_path / "mirrors", file_bytes=100).of(Remote(origin.url))
    mirror.fetch(branch(commit))
    big, small = mirror.tree(commit)
    with pytest.raises(RefusedError) as caught:
        mirror.read([small.id, big.id])
    assert caught.value.code == "git-file-too-large"
    assert mirror.read([small.id]) == {small.id: b"x"}
    mirror.close()


def test_more_files_than_the_limit_are_refused(origin: Origin, tmp_path: Path) -> None:
    commit = origin.commit({str(number): "x" for number in range(6)})
    mirror = origin.mirrors(tmp_path / "mirrors", tree_entries=5).of(Remote(origin.url))
    mirror.fetch(branch(commit))
    with pytest.raises(RefusedError) as caught:
        mirror.tree(commit)
    assert caught.value.code == "git-tree-too-large"
    mirror.close()


def test_names_that_can_be_no_paths_are_set_aside(origin: Origin, mirror: Mirror) -> None:
    origin.commit({"a": "1"})
    blob = origin.git("rev-parse", "HEAD:a").encode()
    names = (b"good.yaml", b"back\\slash", b"bad\xff.yaml", b"line\nbreak", b"\xc3\xbc.yaml")
    tree = b"".join(b"100644 blob %s\t%s\0" % (blob, name) for name in sorted(names))
    commit = origin.plant(tree)
    mirror.fetch(branch(commit, "planted"))
    listing = mirror.listing(commit)
    assert [entry.path for entry in listing.entries] == ["good.yaml", "ü.yaml"]
    assert {each.shown for each in listing.refused} == {
        *("back\\\\slash", "bad\\\\xff.yaml", "line\\nbreak"),
    }
    assert all(each.reason and "\n" not in each.reason for each in listing.refused)
    assert mirror.tree(commit) == listing.entries
