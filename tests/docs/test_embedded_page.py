import re
from pathlib import Path

from kube_sandbox.registry.builtin.base_strategy import BaseStrategy
from kube_sandbox.registry.builtin.registry import strategies
from kube_sandbox.registry.strategy import Strategy

PAGE = Path(__file__).parents[2] / "docs" / "embedded.md"
CHECKS = ("check", "check_update", "validate_create", "validate_update")
FILLS = ("default", "prepare_create", "prepare_update")

NOT_LISTED = {
    "customresourcedefinitions.apiextensions.k8s.io",  # judged by a strategy of their own
    "serviceaccounts",  # a real server, too, judges nothing but their metadata
    # Never stored.
    "bindings",
    "componentstatuses",
    "localsubjectaccessreviews.authorization.k8s.io",
    "selfsubjectaccessreviews.authorization.k8s.io",
    "selfsubjectreviews.authentication.k8s.io",
    "selfsubjectrulesreviews.authorization.k8s.io",
    "subjectaccessreviews.authorization.k8s.io",
    "tokenreviews.authentication.k8s.io",
}


def has_own(strategy: Strategy, names: tuple[str, ...]) -> bool:
    return any(getattr(type(strategy), each) is not getattr(BaseStrategy, each) for each in names)


def test_kinds_that_are_not_judged_are_listed() -> None:
    left = {
        name: has_own(each, FILLS)
        for name, each in strategies().items()
        if not has_own(each, CHECKS) and name not in NOT_LISTED
    }
    table = PAGE.read_text(encoding="utf-8").split("## Kinds")[1].split("##")[0]
    (row,) = (line for line in table.splitlines() if line.startswith("| `"))
    filled, plain = (re.findall("`(.+?)`", cell) for cell in row.strip("| ").split(" | "))
    assert filled == sorted(name for name, is_filled in left.items() if is_filled)
    assert plain == sorted(name for name, is_filled in left.items() if not is_filled)
