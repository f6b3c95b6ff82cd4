"""What a hostile repository, home or environment tries, and does not get."""

import os
from pathlib import Path

import pytest

from kro_gitops.errors import KroGitopsError
from kro_gitops.source.git.mirror import Mirror, Mirrors
from kro_gitops.source.git.repository import GitRunner
from kro_gitops.source.git.revisions import Chosen
from kro_gitops.source.git.types import FetchRules, Remote
from kube_objects.errors import RefusedError
from tests.unit.source.git.origins import Origin, branch

# Every variable here runs a program, or sends git elsewhere, if git gets to see it.
_VARIABLES = (
    *("GIT_SSH_COMMAND", "GIT_PROXY_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_EXTERNAL_DIFF"),
    *("GIT_PAGER", "PAGER", "EDITOR", "GIT_EDITOR"),
)


def use_everything(origin: Origin, mirror: Mirror) -> None:
    old = origin.commit({"a": "1\n"})
    origin.commit({"a": "2\n"})
    commit = origin.commit({"a": "3\n", "b": "1\n"})
    assert mirror.ask(["refs/heads/*"]).refs == {"refs/heads/main": commit}
    mirror.fetch(branch(commit))
    mirror.fetch(Chosen("", old))
    entries = mirror.tree(commit)
    assert len(mirror.read([entry.id for entry in entries])) == 2
    assert mirror.changed_paths(old, commit) == frozenset({"a", "b"})
    assert mirror.is_ancestor(old, commit)
    assert mirror.blame(commit, "a", 1).id == commit


def plant(folder: Path, mark: Path) -> Path:
    script = folder / "evil"
    script.write_text(f"#!/bin/sh\necho $0 >> {mark}\n")
    script.chmod(0o755)
    return script


def test_settings_and_hooks_of_our_home_have_no_effect(
    origin: Origin, mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark, home = tmp_path / "mark", tmp_path / "evil-home"
    (home / ".config" / "git").mkdir(parents=True)
    script = plant(home, mark)
    text = (
        f"[core]\n\tsshCommand = {script}\n\tfsmonitor = {script}\n\tpager = {script}\n"
        f"\thooksPath = {home}\n\taskPass = {script}\n[credential]\n\thelper = !{script}\n"
        f"[uploadpack]\n\tpackObjectsHook = {script}\n[diff]\n\texternal = {script}\n"
        f'[protocol]\n\tallow = always\n[url "ext::{script} "]\n\tinsteadOf = file://\n'
    )
    (home / ".gitconfig").write_text(text)
    (home / ".config" / "git" / "config").write_text(text)
    for hook in ("reference-transaction", "post-fetch", "post-merge", "pre-auto-gc"):
        script.with_name(hook).write_text(script.read_text())
        script.with_name(hook).chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    use_everything(origin, mirror)
    assert not mark.exists()


def test_hooks_planted_in_the_mirror_itself_are_not_run(
    origin: Origin, mirror: Mirror, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    first = origin.commit({"a": "0"})
    mirror.fetch(branch(first))
    hooks = mirror.path / "hooks"
    hooks.mkdir()
    plant(hooks, mark).rename(hooks / "reference-transaction")
    use_everything(origin, mirror)
    assert not mark.exists()


def test_variables_of_ours_are_not_inherited(
    origin: Origin, mirror: Mirror, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "mark"
    script = plant(tmp_path, mark)
    for name in _VARIABLES:
        monkeypatch.setenv(name, str(script))
    for name in ("GIT_DIR", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_WORK_TREE"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(script))
    use_everything(origin, mirror)
    assert not mark.exists()
    assert not (tmp_path / "trace").exists()
    assert not (tmp_path / "elsewhere").exists()


def test_a_mirror_below_somebody_elses_repository_does_not_ask_it(
    origin: Origin, tmp_path: Path
) -> None:
    around = Origin(tmp_path / "around")
    around.git("config", "url.file:///nowhere/.insteadOf", "file://")
    mirrors = origin.mirrors(around.folder / "mirrors")
    use_everything(origin, mirrors.of(Remote(origin.url)))
    mirrors.close()


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c 'touch {mark}'",
        "--upload-pack=touch {mark}",
        "file:///",
        "/etc",
        "git://host.example/x",
        "ssh://-oProxyCommand=touch/x",
        "https://user:secretword@host.example/x",
        "http://host.example/x",
        "https://host.example/x\n--upload-pack=x",
    ],
)
def test_urls_that_are_not_allowed_are_refused_before_git_sees_them(
    url: str, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    mirror = Mirrors(tmp_path / "mirrors", FetchRules()).of(Remote(url.format(mark=mark)))
    for visit in (lambda: mirror.ask(["HEAD"]), lambda: mirror.fetch(Chosen("", "1" * 40))):
        with pytest.raises(RefusedError) as caught:
            visit()
        assert "secretword" not in f"{caught.value.message} {caught.value.hint}"
    assert not mark.exists()


def test_a_ref_named_like_an_option_is_only_a_name(
    origin: Origin, mirror: Mirror, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    commit = origin.commit({"a": "1"})
    name = f"refs/heads/--upload-pack=touch${{IFS}}{mark.name}"
    (origin.folder / ".git" / name).parent.mkdir(parents=True, exist_ok=True)
    origin.git("update-ref", name, commit)
    assert mirror.ask(["refs/heads/*"]).refs[name] == commit
    with pytest.raises(RefusedError):
        mirror.fetch(Chosen(name, commit))
    origin.git("update-ref", "-d", "refs/heads/main")
    with pytest.raises(KroGitopsError):
        mirror.fetch(branch("1" * 40))
    assert not list(tmp_path.rglob(mark.name))


def test_objects_that_git_calls_dangerous_do_not_come_in(origin: Origin, mirror: Mirror) -> None:
    origin.commit({"a": "1"})
    blob = origin.git("rev-parse", "HEAD:a").encode()
    inner = origin.git("mktree", "-z", text=b"100644 blob %s\tx\0" % blob).encode()
    commit = origin.plant(b"040000 tree %s\t.git\0" % inner)
    with pytest.raises(RefusedError) as caught:
        mirror.fetch(branch(commit, "planted"))
    assert caught.value.code == "git-objects-refused"
    assert not mirror.has(commit)


def test_a_tree_that_unfolds_without_end_is_cut_short(origin: Origin, tmp_path: Path) -> None:
    origin.commit({"a": "1"})
    kind, id = b"100644 blob", origin.git("rev-parse", "HEAD:a").encode()
    for _ in range(8):
        rows = b"".join(b"%s %s\t%02d\0" % (kind, id, number) for number in range(10))
        kind, id = b"040000 tree", origin.git("mktree", "-z", text=rows).encode()
    commit = origin.plant(b"040000 tree %s\ttop\0" % id)
    mirror = origin.mirrors(tmp_path / "mirrors", tree_entries=1000).of(Remote(origin.url))
    mirror.fetch(branch(commit, "planted"))
    with pytest.raises(RefusedError) as caught:
        mirror.tree(commit)
    assert caught.value.code == "git-tree-too-large"
    mirror.close()


def test_the_door_lets_nothing_through_that_we_did_not_build(
    origin: Origin, mirror: Mirror, tmp_path: Path
) -> None:
    commit = origin.commit({"a": "1"})
    mirror.fetch(branch(commit))
    runner = GitRunner(mirror.path)
    calls = (
        lambda: runner.status(),
        lambda: runner.fetch("--upload-pack=touch x", "."),
        lambda: runner.execute(["git", "cat-file", "--batch"]),
        lambda: runner.execute(["git", "cat-file", "--batch", "--textconv"], -1, as_process=True),
        lambda: runner.clone(origin.url, str(tmp_path / "clone")),
        lambda: runner.get_object_header(commit),
    )
    for call in calls:
        with pytest.raises(RefusedError) as caught:
            call()
        assert caught.value.code == "git-command-refused"
    assert not (tmp_path / "clone").exists()


def test_only_we_can_look_into_the_mirrors(origin: Origin, mirror: Mirror) -> None:
    mirror.fetch(branch(origin.commit({"a": "1"})))
    for folder in (mirror.path.parent, mirror.path):
        assert folder.stat().st_mode & 0o077 == 0
    assert not os.listdir(mirror.path.parent / "home")  # noqa: PTH208 - names are enough
