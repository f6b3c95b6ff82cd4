"""Repositories that nobody thought of come to the same offline and in a cluster."""

import pytest
from hypothesis import HealthCheck, given, settings
from objects_testing.budgets import examples

from tests.equivalence.comparison import compare
from tests.equivalence.controller import Controller
from tests.equivalence.repositories import Generated, repositories


@pytest.mark.timeout(1800)
@settings(
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(repositories())
def test_render_and_the_controller_agree(controller: Controller, generated: Generated) -> None:
    compare(controller, generated.objects, besides=generated.besides)
