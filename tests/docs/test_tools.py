"""Whoever updates to a new Kubernetes finds every command in the list of its folder."""

import re
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"


@pytest.mark.parametrize("folder", ["package_data", "recording"])
def test_a_folder_of_commands_lists_them_all(folder: str) -> None:
    files = (TOOLS / folder).glob("*.py")
    commands = {file.stem for file in files if '__name__ == "__main__"' in file.read_text()}
    listed = re.findall(r"^    (\w+)  ", (TOOLS / folder / "__init__.py").read_text(), re.MULTILINE)
    assert set(listed) == commands
