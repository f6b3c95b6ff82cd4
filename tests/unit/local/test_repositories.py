from pathlib import Path

import pytest

from kro_gitops.errors import UserError
from kro_gitops.local.repositories import check_repository
from tests.git_repositories import GitRepository


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a current folder with a repository and other things in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in ("shop/.git", "shop/my apps", "plain"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "file").touch()
    (tmp_path / "worktree").mkdir()
    (tmp_path / "worktree" / ".git").write_text("gitdir: ../shop/.git/worktrees/x\n")
    GitRepository.create(tmp_path / "bare.git")
    return tmp_path


@pytest.mark.parametrize(
    "text",
    [
        "shop",
        "./shop",
        "~/shop",
        "worktree",
        "bare.git",
        "bare",
        "https://github.com/acme/shop",
        "ssh://git@github.com/acme/shop.git",
    ],
)
@pytest.mark.usefixtures("here")
def test_a_repository_is_accepted(text: str) -> None:
    check_repository(text)


def test_the_url_of_a_folder_is_checked_too(here: Path) -> None:
    check_repository((here / "shop").as_uri())
    with pytest.raises(UserError, match=r"'/.*/shop/my apps' is a folder in the git repository"):
        check_repository((here / "shop" / "my apps").as_uri())


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "nowhere",
            "--repo: there is no folder '{here}/nowhere'",
            "name the root folder of a git repository; a URL begins with https:// or ssh://",
        ),
        (
            "git@github.com:acme/shop.git",
            "--repo: there is no folder '{here}/git@github.com:acme/shop.git'",
            "for a remote, write ssh://git@github.com/acme/shop.git",
        ),
        (
            "plain",
            "--repo: '{here}/plain' is not a git repository",
            "create one: `git init`, `git add .` and `git commit` in this folder",
        ),
        (
            "file",
            "--repo: '{here}/file' is a file, not a git repository",
            "name a folder; a URL begins with https:// or ssh://",
        ),
        (
            "shop/my apps",
            "--repo: '{here}/shop/my apps' is a folder in the git repository '{here}/shop', not "
            "its root",
            "use --repo {here}/shop --path 'my apps'",
        ),
    ],
)
def test_a_folder_that_is_no_repository_is_rejected_with_what_it_is(
    text: str, message: str, hint: str, here: Path
) -> None:
    with pytest.raises(UserError) as caught:
        check_repository(text)
    assert caught.value.message == message.format(here=here)
    assert caught.value.hint == hint.format(here=here)
