from collections import Counter

from kube_cel.environment import Environment
from kube_cel.library.function_table import FAMILIES, FUNCTIONS, METHODS

# Operators, what macros expand to, and functions the compiler evaluates itself.
_BY_THE_COMPILER = {"or", "orValue", "@in", "@sortByAssociatedKeys", "cel.@mapInsert"}


def test_no_two_families_claim_one_function() -> None:
    plain = Counter(name for family in FAMILIES for name in family.GLOBALS)
    methods = Counter(key for family in FAMILIES for key in family.MEMBERS)
    assert [name for name, count in (plain + methods).items() if count > 1] == []


def test_every_function_kro_declares_is_there() -> None:
    missing = [
        overload.function
        for overloads in Environment.kro().functions.values()
        for overload in overloads
        if not overload.function.startswith(("_", "!", "-"))
        and overload.function not in _BY_THE_COMPILER
        and overload.function not in (METHODS if overload.is_member else FUNCTIONS)
    ]
    assert missing == []
