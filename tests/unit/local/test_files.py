from pathlib import Path, PurePath

import pytest

from kro_gitops.errors import UserError
from kro_gitops.local.files import expand_home


def test_a_path_may_begin_at_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert expand_home(PurePath("~/data")) == Path("/home/me/data")
    with pytest.raises(UserError, match="there is no such home"):
        expand_home(PurePath("~nobody-has-it/data"))
