from pathlib import Path

import pytest

from kro_gitops.cli.run.session import with_followed_folder
from kro_gitops.settings.settings import LocalSource, parse_settings


def remembered(folder: Path, **flags: str) -> LocalSource | None:
    given = {name.replace("_", "-"): value for name, value in flags.items()}
    return with_followed_folder(parse_settings(given, {}), folder).remembered


def test_a_folder_that_was_named_is_remembered(tmp_path: Path) -> None:
    assert remembered(tmp_path) is None
    assert remembered(tmp_path, repo="/srv/shop", repo_name="shop") is None  # it is named
    assert remembered(tmp_path) == LocalSource("default/shop", "file:///srv/shop")
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_server_that_was_named_takes_its_place(tmp_path: Path) -> None:
    remembered(tmp_path, repo="/srv/shop")
    remembered(tmp_path, repo="https://git.example.com/shop")
    assert remembered(tmp_path) is None


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"source": "default/repo"}'])
def test_what_cannot_be_read_is_forgotten(tmp_path: Path, content: str) -> None:
    remembered(tmp_path, repo="/srv/shop")
    (file,) = tmp_path.iterdir()
    file.write_text(content, encoding="utf-8")
    assert remembered(tmp_path) is None
