"""No argument, variable or setting from outside reaches git unchecked."""

import pytest

from kro_gitops.source.git import commands
from kro_gitops.source.git.commands import Command
from kube_objects.errors import RefusedError

ID = "0123456789" * 4
URL = "https://host.example/repo"


def test_a_fetch_has_exactly_these_arguments() -> None:
    command = commands.fetch(URL, [commands.ref_to("refs/heads/main", ID)])
    assert command.arguments == (
        *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"),
        *("--no-auto-gc", "--no-auto-maintenance", "--no-prune", "--depth=1"),
        *("--end-of-options", URL, f"+refs/heads/main:refs/kg/{ID}"),
    )


def test_many_ids_are_read_and_not_arguments() -> None:
    command = commands.fetch_blobs(URL, [ID, ID[::-1]])
    assert ID not in command.arguments
    assert command.text == f"{ID}\n{ID[::-1]}\n".encode()


@pytest.mark.parametrize(
    "ref",
    [
        "--upload-pack=touch X",
        "refs/heads/--upload-pack=touch",
        "main",
        "refs/heads/a..b",
        "refs/heads/a b",
        "refs/heads/x:refs/heads/y",
        "refs/heads/x\nHEAD",
        "refs/heads/*",
        "",
    ],
)
def test_refs_that_are_none_are_refused(ref: str) -> None:
    for build in (commands.only_ref, commands.tip_of, lambda name: commands.ref_to(name, ID)):
        with pytest.raises(RefusedError):
            build(ref)


@pytest.mark.parametrize("pattern", ["--exec=x", "refs/heads/-x", "*", "tags/*", "refs/*/x"])
def test_patterns_that_are_none_are_refused(pattern: str) -> None:
    with pytest.raises(RefusedError):
        commands.ls_remote(URL, [pattern])


def test_a_tags_commit_is_asked_for_with_it() -> None:
    asked = commands.ls_remote(URL, ["HEAD", "refs/heads/main", "refs/tags/v1", "refs/tags/*"])
    assert asked.arguments[4:] == (
        *(URL, "HEAD", "refs/heads/main", "refs/tags/v1", "refs/tags/v1^{}", "refs/tags/*"),
    )


@pytest.mark.parametrize("id", ["", "HEAD", "-" * 40, "A" * 40, ID[:39], ID + "\n", f"{ID}^"])
def test_ids_that_are_none_are_refused(id: str) -> None:
    builds = (
        commands.only_id,
        commands.id_to,
        lambda each: commands.ls_tree(each, sizes=True),
        lambda each: commands.diff_tree(each, ID),
        lambda each: commands.is_ancestor(ID, each),
        lambda each: commands.blame(each, "a", 1),
        lambda each: commands.check_objects([each]),
        lambda each: commands.fetch_blobs(URL, [each]),
    )
    for build in builds:
        with pytest.raises(RefusedError):
            build(id)


@pytest.mark.parametrize("url", ["ext::sh -c x", "-x", "host:path", "git://h/x", "file://h/x", ""])
def test_urls_in_other_forms_are_refused(url: str) -> None:
    with pytest.raises(RefusedError):
        commands.ls_remote(url, ["HEAD"])


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("push", "--end-of-options", URL),
        ("checkout", "--end-of-options", "main"),
        ("config", "--end-of-options", "core.pager", "x"),
        ("fetch", URL),
        ("fetch", "--upload-pack=touch X", "--end-of-options", URL),
        ("ls-remote", "--exec=touch X", "--end-of-options", URL),
        ("blame", "--contents=/etc/passwd", ID, "--", "a"),
        ("cat-file", "--textconv"),
        ("-c", "core.pager=x", "--end-of-options"),
        ("blame", ID, "--", "a\nb"),
    ],
)
def test_commands_that_are_not_ours_refuse_themselves(arguments: tuple[str, ...]) -> None:
    with pytest.raises(RefusedError) as caught:
        Command(arguments)
    assert caught.value.code == "git-command-refused"


def test_no_transport_is_allowed_unless_named() -> None:
    assert commands.environment(home="/h", path="/bin")["GIT_ALLOW_PROTOCOL"] == "none"
    named = commands.environment(home="/h", path="/bin", protocols=["https"])
    assert named["GIT_ALLOW_PROTOCOL"] == "https"


def test_the_guards_are_configured() -> None:
    found = commands.configuration(git_dir="/m", protocols=["https"], more=[("a.b", "c")])
    keys = {
        value: found[name.replace("KEY", "VALUE")]
        for name, value in found.items()
        if name.startswith("GIT_CONFIG_KEY_")
    }
    assert len(keys) == int(found["GIT_CONFIG_COUNT"])
    assert keys.items() >= {
        ("core.hooksPath", "/dev/null"),
        ("core.fsmonitor", "false"),
        ("core.symlinks", "false"),
        ("protocol.allow", "never"),
        ("protocol.https.allow", "always"),
        ("transfer.fsckObjects", "true"),
        ("fetch.recurseSubmodules", "false"),
        ("http.followRedirects", "false"),
        ("gc.auto", "0"),
        ("credential.helper", ""),
        ("safe.directory", "/m"),
        ("a.b", "c"),
    }
