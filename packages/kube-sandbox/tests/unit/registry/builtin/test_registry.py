"""The ways of all built-in kinds."""

from kube_objects.builtins.catalog import catalog
from kube_sandbox.api_errors import qualified
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy
from kube_sandbox.registry.builtin.registry import strategies


def test_every_kind_of_the_catalogue_has_its_ways() -> None:
    found = strategies()
    kinds = (catalog.find(kind) for kind in catalog.kinds())
    names = {qualified(each.kind.group, each.plural) for each in kinds if each is not None}
    assert names - found.keys() == set()


def test_a_kind_is_judged_in_its_scope() -> None:
    found = strategies()
    for kind in catalog.kinds():
        known = catalog.find(kind)
        assert known is not None
        strategy = found[qualified(kind.group, known.plural)]
        if isinstance(strategy, BaseStrategy):
            assert strategy.ways.namespaced == known.namespaced, kind


def test_only_some_kinds_are_made_by_a_put() -> None:
    made = {name for name, each in strategies().items() if each.creates_on_update}
    assert made == {
        "clusterrolebindings.rbac.authorization.k8s.io",
        "clusterroles.rbac.authorization.k8s.io",
        "endpoints",
        "events",
        "events.events.k8s.io",
        "leases.coordination.k8s.io",
        "limitranges",
        "rolebindings.rbac.authorization.k8s.io",
        "roles.rbac.authorization.k8s.io",
        "runtimeclasses.node.k8s.io",
        "services",
    }


def test_kinds_that_people_write_are_not_plain() -> None:
    found = strategies()
    plain = {name for name, each in found.items() if type(each) is BaseStrategy}
    assert not {"configmaps", "services", "ingresses.networking.k8s.io"} & plain
    assert "ipaddresses.networking.k8s.io" in plain


def test_a_write_to_a_half_does_not_own_the_other() -> None:
    quotas = strategies()["resourcequotas"]
    assert quotas.reset_fields("") == (("status",),)
    assert quotas.reset_fields("status") == (("spec",),)
