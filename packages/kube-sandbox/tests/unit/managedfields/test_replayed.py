"""
What several managers did to objects at a real API server, done again here.

Compared are managed fields with their times and order, merged values, and refusals to the letter.
"""

from functools import cache

import pytest
from sandbox_testing.apply_recordings import RECORDED, Recording


@cache
def recording() -> Recording:
    return Recording(RECORDED)


@pytest.mark.parametrize("place", range(len(recording().sequences)))
def test_goes_as_at_a_real_server(place: int) -> None:
    assert list(recording().differences(place)) == []
