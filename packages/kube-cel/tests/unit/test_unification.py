import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube_cel.types import (
    BOOL,
    DURATION,
    DYN,
    ERROR,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    map_of,
    object_of,
    optional_of,
    type_of,
)
from kube_cel.unification import Substitution, most_general

CLOSED = st.recursive(
    st.sampled_from([BOOL, INT, STRING, DYN, NULL, TIMESTAMP, object_of("x")]),
    lambda inner: inner.map(list_of) | inner.map(optional_of) | st.builds(map_of, inner, inner),
    max_leaves=5,
)


@pytest.mark.parametrize(
    ("source", "target", "fits"),
    [
        (INT, INT, True),
        (INT, STRING, False),
        (INT, DYN, True),
        (DYN, INT, True),
        (ERROR, INT, True),
        (NULL, INT, False),
        (NULL, object_of("x"), True),
        (NULL, optional_of(INT), True),
        (TIMESTAMP, NULL, True),
        (DURATION, NULL, True),
        (NULL, list_of(INT), False),
        (object_of("x"), object_of("x"), True),
        (object_of("x"), object_of("y"), False),
        (list_of(INT), list_of(INT), True),
        (list_of(INT), list_of(DYN), True),
        (list_of(INT), list_of(STRING), False),
        (list_of(INT), map_of(INT, INT), False),
        (map_of(STRING, INT), map_of(STRING, DYN), True),
        (type_of(INT), type_of(STRING), True),
        (type_of(INT), INT, False),
    ],
)
def test_types_go_together_as_in_cel_go(source: Type, target: Type, fits: bool) -> None:
    assert Substitution().unify(source, target) == fits


@given(CLOSED)
@settings(max_examples=100)
def test_every_type_goes_with_itself_and_with_a_free_variable(examined: Type) -> None:
    substitution = Substitution()
    variable = substitution.fresh()
    assert substitution.unify(examined, examined)
    assert substitution.unify(examined, variable)
    assert substitution.resolve(list_of(variable)) == list_of(examined)


@given(CLOSED, CLOSED)
@settings(max_examples=200)
def test_a_failed_attempt_leaves_no_trace(left: Type, right: Type) -> None:
    substitution = Substitution()
    variable, other = substitution.fresh(), substitution.fresh()
    assert substitution.unify(variable, left)
    if not substitution.unify_all((right, variable, other), (other, right, list_of(other))):
        assert substitution.resolve(variable) == left
        assert substitution.resolve(other) == other


def test_a_variable_takes_the_more_general_type_it_meets() -> None:
    substitution = Substitution()
    variable = substitution.fresh()
    assert substitution.unify_all((list_of(INT), list_of(DYN)), (variable, variable))
    assert substitution.resolve(variable) == list_of(DYN)


def test_a_variable_never_contains_itself() -> None:
    substitution = Substitution()
    variable = substitution.fresh()
    assert not substitution.unify(variable, list_of(variable))
    assert not substitution.unify(list_of(variable), variable)


def test_free_variables_close_to_dyn() -> None:
    substitution = Substitution()
    assert substitution.close(map_of(STRING, substitution.fresh())) == map_of(STRING, DYN)


@pytest.mark.parametrize(
    ("left", "right", "general"),
    [
        (INT, DYN, DYN),
        (DYN, INT, DYN),
        (list_of(DYN), list_of(INT), list_of(DYN)),
        (NULL, DURATION, DURATION),
        (DURATION, NULL, NULL),
    ],
)
def test_the_more_general_of_two_is_chosen_as_in_cel_go(
    left: Type, right: Type, general: Type
) -> None:
    assert most_general(left, right) == general
