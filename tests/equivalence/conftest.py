"""
One controller for the comparisons of a module: cases keep apart by their names.

It runs in this process and retries what failed, so it must not outlive them: what it logs and
allocates would show in other tests.
"""

from collections.abc import Iterator

import pytest

from tests.equivalence.controller import Controller, running_controller


@pytest.fixture(scope="module")
def controller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    """Give a running controller on an embedded API."""
    with running_controller(tmp_path_factory.mktemp("api")) as running:
        yield running
