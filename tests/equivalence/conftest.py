"""One controller for all comparisons: cases keep apart by their names."""

from collections.abc import Iterator

import pytest

from tests.equivalence.controller import Controller, running_controller


@pytest.fixture(scope="session")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    """Give a running controller on an embedded API."""
    with running_controller(tmp_path_factory.mktemp("api")) as running:
        yield running
