from pathlib import Path

import pytest

from kro_gitops.errors import UserError
from kro_gitops.local import api_process
from kro_gitops.local.api_process import default_folder

HOME = Path("/home/me")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "/home/me/.local/share/kro-gitops"),
        ({"XDG_DATA_HOME": ""}, "/home/me/.local/share/kro-gitops"),
        ({"XDG_DATA_HOME": "/srv/me"}, "/srv/me/kro-gitops"),
        ({"XDG_DATA_HOME": "relative"}, "/home/me/.local/share/kro-gitops"),
    ],
)
def test_data_are_where_xdg_says(environment: dict[str, str], expected: str) -> None:
    assert default_folder(environment, HOME) == Path(expected)


def test_a_missing_sandbox_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_process, "find_spec", lambda _name: None)
    with (
        pytest.raises(UserError) as caught,
        api_process.run_embedded_api(api_process.EmbeddedApiOptions(None), lambda: None),
    ):
        pass
    assert caught.value.code == "sandbox-not-installed"
    assert "kro-gitops[sandbox]" in caught.value.hint
