"""
The ways of all built-in kinds, by plural with group: `services`, `roles.rbac.authorization.k8s.io`.

Most are in files of their own; kinds that nobody would miss the defaults and checks of are
`Plain`: their bodies are read as typed, their metadata is judged, status and generation are kept.
"""

from collections.abc import Iterable, Mapping

from kube_objects.builtins.catalog import catalog
from kube_sandbox.api_errors import qualified
from kube_sandbox.registry.builtin.base_strategy import Plain, Ways
from kube_sandbox.registry.builtin.non_workload_strategies import OTHERS
from kube_sandbox.registry.builtin.services.ip_allocation import AddressBook
from kube_sandbox.registry.builtin.services.strategy import Services
from kube_sandbox.registry.builtin.workload_strategies import WORKLOADS
from kube_sandbox.registry.strategy import Strategies

# Of the plain kinds: those with a status, and those whose generation counts changes of the spec.
_WITH_STATUS = frozenset(
    (
        "certificatesigningrequests.certificates.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
        "servicecidrs.networking.k8s.io",
    )
)
_COUNTED = frozenset(
    (
        "deviceclasses.resource.k8s.io",
        "resourceslices.resource.k8s.io",
    )
)
_CONDITIONAL = frozenset(
    (
        "csinodes.storage.k8s.io",
        "csistoragecapacities.storage.k8s.io",
    )
)
# In these groups a finalizer may be called anything.
_LENIENT = ("apiextensions.k8s.io",)


def strategies(book: AddressBook | None = None) -> Strategies:
    """Return the ways of every built-in kind; `book` knows the addresses of Services."""
    known = {**OTHERS, **WORKLOADS, "services": Services(book or AddressBook())}
    return {**{name: Plain(ways) for name, ways in _plain_ways(known)}, **known}


def plain_kinds() -> list[str]:
    """Return the kinds without defaults and checks of their own."""
    return [name for name, _ in _plain_ways({**OTHERS, **WORKLOADS, "services": None})]


def kinds_with_status() -> list[str]:
    """Return the kinds whose status is written apart."""
    return [name for name, each in strategies().items() if each.reset_fields("status")]


def _plain_ways(known: Mapping[str, object]) -> Iterable[tuple[str, Ways]]:
    for kind, plural, namespaced in catalog.places():
        name = qualified(kind.group, plural)
        if name not in known:
            ways = Ways(
                namespaced=namespaced,
                has_status=name in _WITH_STATUS,
                counted=("spec",) if name in _COUNTED else (),
                allows_unconditional_update=name not in _CONDITIONAL,
                judges_finalizers=kind.group not in _LENIENT,
            )
            yield name, ways
