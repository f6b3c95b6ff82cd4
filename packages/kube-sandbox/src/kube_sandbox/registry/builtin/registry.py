"""
The strategies of all built-in kinds, by plural with group: `services`,
`roles.rbac.authorization.k8s.io`.

Kinds without defaults and checks of their own have a `BaseStrategy`: their bodies are decoded by
type, their metadata is validated, status and generation are kept.
"""

from kube_objects.builtins.catalog import catalog
from kube_sandbox.api_errors import qualified
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy, KindOptions
from kube_sandbox.registry.builtin.non_workload_strategies import NON_WORKLOAD_STRATEGIES
from kube_sandbox.registry.builtin.services.ip_allocation import ServiceAllocations
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
_ALLOWS_UNKNOWN_FINALIZERS = ("apiextensions.k8s.io",)


def strategies(book: ServiceAllocations | None = None) -> Strategies:
    """Return the ways of every built-in kind; `book` knows the addresses of Services."""
    known = {
        **NON_WORKLOAD_STRATEGIES,
        **WORKLOADS,
        "services": Services(book or ServiceAllocations()),
    }
    found: dict[str, BaseStrategy] = {}
    for kind, plural, namespaced in catalog.places():
        name = qualified(kind.group, plural)
        if name not in known:
            ways = KindOptions(
                namespaced=namespaced,
                has_status=name in _WITH_STATUS,
                counted=("spec",) if name in _COUNTED else (),
                allows_unconditional_update=name not in _CONDITIONAL,
                validates_finalizers=kind.group not in _ALLOWS_UNKNOWN_FINALIZERS,
            )
            found[name] = BaseStrategy(ways)
    return {**found, **known}
