"""Fixtures for fetching from real git servers on this machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.child_processes import processes_in
from tests.e2e.git.fetching import Fetcher


@pytest.fixture
def fetcher(tmp_path: Path) -> Iterator[Fetcher]:
    """Give what makes mirrors; nothing it started may be left when they are closed."""
    made = Fetcher(tmp_path / "mirrors")
    yield made
    made.close()
    assert processes_in(made.root) == [], "git is still running"
