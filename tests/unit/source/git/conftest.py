from collections.abc import Iterator
from pathlib import Path

import pytest

from kro_gitops.source.git.mirror import Mirror, Mirrors
from kro_gitops.source.git.types import Remote
from tests.unit.source.git.origins import Origin


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    return Origin(tmp_path / "origin")


@pytest.fixture
def mirrors(origin: Origin, tmp_path: Path) -> Iterator[Mirrors]:
    found = origin.mirrors(tmp_path / "mirrors")
    yield found
    found.close()


@pytest.fixture
def mirror(origin: Origin, mirrors: Mirrors) -> Mirror:
    return mirrors.of(Remote(origin.url))
