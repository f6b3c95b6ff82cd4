from pathlib import Path

import pytest

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
