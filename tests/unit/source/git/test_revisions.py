import pytest

from kro_gitops.errors import UserError
from kro_gitops.source.api.types import WantedRef
from kro_gitops.source.git.revisions import (
    Chosen,
    RemoteRefs,
    choose,
    patterns,
    refs_to_follow,
    wider_patterns,
)
from kube_objects.errors import RefusedError

A, B, C, D, T = (digit * 40 for digit in "abcd1")
REFS = RemoteRefs(
    head="refs/heads/main",
    refs={
        "HEAD": A,
        "refs/heads/main": A,
        "refs/heads/feature/login": B,
        "refs/heads/release": C,
        "refs/tags/v1.2.0": C,
        "refs/tags/v1.10.0": T,
        "refs/tags/v2.0.0-rc.1": D,
        "refs/tags/nightly-9.9.9": D,
        "refs/pull/7/head": D,
    },
    peeled={"refs/tags/v1.10.0": B},
)


def failure(refs: RemoteRefs, wanted: WantedRef) -> UserError:
    with pytest.raises(UserError) as failed:
        choose(refs, wanted)
    return failed.value


def test_without_a_ref_the_remotes_head_is_taken_and_named() -> None:
    chosen = choose(REFS, WantedRef())
    assert chosen == Chosen("refs/heads/main", A, name="main")
    assert chosen.revision() == f"main@sha1:{A}"


def test_a_detached_head_is_taken_under_its_own_name() -> None:
    chosen = choose(RemoteRefs(refs={"HEAD": A}), WantedRef())
    assert chosen.revision() == f"HEAD@sha1:{A}"


def test_an_annotated_tag_gives_its_commit_and_the_tag_object() -> None:
    chosen = choose(REFS, WantedRef(tag="v1.10.0"))
    assert chosen == Chosen("refs/tags/v1.10.0", B, T, "v1.10.0")


def test_a_lightweight_tag_has_no_object_of_its_own() -> None:
    assert choose(REFS, WantedRef(tag="v1.2.0")).tag_object == ""


def test_the_more_exact_field_wins() -> None:
    everything = WantedRef("release", "v1.2.0", ">=1", "", "refs/pull/7/head", D)
    expected = [
        (WantedRef(branch="release"), "release"),
        (WantedRef(branch="release", tag="v1.2.0"), "v1.2.0"),
        (WantedRef(branch="release", tag="v1.2.0", semver=">=1"), "v1.10.0"),
        (WantedRef("release", "v1.2.0", ">=1", "", "refs/pull/7/head"), "refs/pull/7/head"),
    ]
    assert [choose(REFS, wanted).name for wanted, _ in expected] == [name for _, name in expected]
    assert choose(REFS, everything) == Chosen("refs/heads/release", D, name="release")


def test_a_commit_alone_needs_no_answer_from_the_remote() -> None:
    wanted = WantedRef(commit=D)
    assert patterns(wanted) == ()
    assert choose(RemoteRefs(), wanted).revision() == f"sha1:{D}"


def test_ids_of_64_digits_are_sha256() -> None:
    assert choose(RemoteRefs(), WantedRef(commit="e" * 64)).revision() == f"sha256:{'e' * 64}"


def test_a_pin_beats_everything_even_refs_that_are_gone() -> None:
    assert choose(RemoteRefs(), WantedRef(branch="gone"), pin=C) == Chosen("", C)


def test_versions_are_compared_as_versions_and_filtered_by_name() -> None:
    assert choose(REFS, WantedRef(semver=">=1")).name == "v1.10.0"
    assert choose(REFS, WantedRef(semver=">=1-0")).name == "v2.0.0-rc.1"
    filtered = WantedRef(semver=">=1", semver_filter=r"^v1\.2\.")
    assert choose(REFS, filtered).name == "v1.2.0"


@pytest.mark.parametrize(
    ("wanted", "asked"),
    [
        (WantedRef(), ("HEAD",)),
        (WantedRef(branch="main"), ("refs/heads/main",)),
        (WantedRef(tag="v1"), ("refs/tags/v1",)),
        (WantedRef(semver="*"), ("refs/tags/*",)),
        (WantedRef(name="refs/pull/7/head"), ("refs/pull/7/head",)),
        (WantedRef(branch="main", commit=A), ("refs/heads/main",)),
    ],
)
def test_only_what_is_needed_is_asked_for(wanted: WantedRef, asked: tuple[str, ...]) -> None:
    assert patterns(wanted) == asked
    assert set(wider_patterns()) >= {"refs/heads/*", "refs/tags/*"}


@pytest.mark.parametrize(
    ("wanted", "message", "hint"),
    [
        (WantedRef(branch="mian"), "no branch 'mian'", "did you mean 'main'?"),
        (WantedRef(tag="v1.2"), "no tag 'v1.2'", "did you mean 'v1.2.0'"),
        (WantedRef(tag="release"), "no tag 'release'", "there is a branch of that name"),
        (WantedRef(branch="zzz"), "no branch 'zzz'", "there are 'feature/login', 'main'"),
        (WantedRef(name="refs/pull/8/head"), "no ref 'refs/pull/8/head'", "refs/pull/7/head"),
    ],
)
def test_a_missing_ref_is_reported_with_what_is_near(
    wanted: WantedRef, message: str, hint: str
) -> None:
    failed = failure(REFS, wanted)
    assert failed.code == "ref-not-found"
    assert message in failed.message
    assert hint in failed.hint


def test_no_matching_version_is_reported_with_the_tags_there_are() -> None:
    failed = failure(REFS, WantedRef(semver=">=3", semver_filter="^v"))
    assert failed.code == "no-matching-version"
    assert "'>=3' and filter '^v'" in failed.message
    assert "'v1.2.0'" in failed.hint


def test_an_empty_repository_is_told_from_a_missing_branch() -> None:
    assert failure(RemoteRefs(), WantedRef()).code == "empty-repository"
    assert failure(RemoteRefs(), WantedRef(branch="main")).code == "ref-not-found"


def test_a_filter_that_is_no_expression_is_reported(capfd: pytest.CaptureFixture[str]) -> None:
    failed = failure(REFS, WantedRef(semver="*", semver_filter="(v"))
    assert failed.code == "bad-semver-filter"
    assert "missing" in failed.message
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "wanted",
    [
        WantedRef(branch="--upload-pack=touch x"),
        WantedRef(tag="../../etc"),
        WantedRef(name="main"),
        WantedRef(name="refs/heads/a\nb"),
        WantedRef(commit="abc123"),
        WantedRef(commit=A, branch="-x"),
    ],
)
def test_names_that_git_could_misunderstand_are_refused(wanted: WantedRef) -> None:
    with pytest.raises(RefusedError):
        choose(REFS, wanted)


def test_names_the_remote_made_up_are_not_believed() -> None:
    hostile = RemoteRefs(
        head="refs/heads/--upload-pack=x",
        refs={"HEAD": A, "refs/tags/-v9.9.9": B, "refs/tags/v1.0.0": C},
    )
    with pytest.raises(RefusedError):
        choose(hostile, WantedRef())
    assert choose(hostile, WantedRef(semver="*")).commit == C
    with pytest.raises(RefusedError):
        choose(RemoteRefs(refs={"refs/heads/main": "--help"}), WantedRef(branch="main"))


MAIN = Chosen("refs/heads/main", A, name="main")


@pytest.mark.parametrize(
    ("wanted", "former", "refs"),
    [
        pytest.param(WantedRef(branch="main"), MAIN, (MAIN.ref,), id="a branch"),
        pytest.param(WantedRef(), MAIN, ("HEAD", MAIN.ref), id="the default branch"),
        pytest.param(WantedRef(), Chosen("HEAD", A, name="HEAD"), (), id="HEAD of no branch"),
        pytest.param(WantedRef(branch="next"), MAIN, (), id="another branch than before"),
        pytest.param(WantedRef(branch="main", commit=A), MAIN, (), id="a commit of a branch"),
        pytest.param(WantedRef(commit=A), Chosen("", A), (), id="a commit"),
        pytest.param(WantedRef(branch="main", tag="v1"), MAIN, (), id="a tag"),
        pytest.param(WantedRef(branch="main", semver="*"), MAIN, (), id="a range of versions"),
        pytest.param(WantedRef(name="refs/heads/main"), MAIN, (), id="a ref"),
    ],
)
def test_only_branches_tell_by_themselves_where_they_moved(
    wanted: WantedRef, former: Chosen, refs: tuple[str, ...]
) -> None:
    assert refs_to_follow(wanted, former) == refs
