import pytest

from kro_gitops.errors import KroGitopsError, NotYet
from kro_gitops.source.controllers.context import each_of


async def test_an_expected_error_comes_as_it_is() -> None:
    async def work(number: int) -> int:
        if number:
            raise NotYet("not-yet", f"number {number}")
        return number

    with pytest.raises(KroGitopsError, match="number 1"):
        await each_of([0, 1], work)


async def test_a_mistake_of_ours_is_not_taken_for_an_expected_error() -> None:
    async def work(number: int) -> int:
        if number:
            raise NotYet("not-yet", "later")
        raise TypeError

    with pytest.raises(ExceptionGroup):
        await each_of([0, 1], work)


async def test_results_come_in_order() -> None:
    async def double(number: int) -> int:
        return 2 * number

    assert await each_of(range(40), double) == [2 * number for number in range(40)]
