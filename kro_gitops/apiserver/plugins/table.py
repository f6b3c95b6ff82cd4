"""
Which plugins are asked about which kinds, in the order in which they are asked.
"""

from collections.abc import Callable, Iterable

from kro_gitops.apiserver.plugins.default_classes import INGRESS, STORAGE, DefaultClass
from kro_gitops.apiserver.plugins.limit_ranges import BUCKETS as LIMITED
from kro_gitops.apiserver.plugins.limit_ranges import LimitRanger
from kro_gitops.apiserver.plugins.nodes import NodeTaint, TopologyLabels
from kro_gitops.apiserver.plugins.plugin import LAST, Plugin, Plugins, Surroundings
from kro_gitops.apiserver.plugins.pod_security import TEMPLATES, PodSecurity
from kro_gitops.apiserver.plugins.priorities import CLASSES, OneDefaultPriority, PodPriority
from kro_gitops.apiserver.plugins.quotas import Quotas
from kro_gitops.apiserver.plugins.runtime_classes import RuntimeClasses
from kro_gitops.apiserver.plugins.service_accounts import PodAccount
from kro_gitops.apiserver.plugins.storage import PROTECTIONS, ClaimResize, InUseProtection
from kro_gitops.apiserver.plugins.tolerations import DefaultTolerations


def plugins(around: Surroundings, *, accounts: bool, suffix: Callable[[], str]) -> Plugins:
    """
    Return all plugins by kind.

    `accounts`: somebody makes a service account in namespaces; `suffix` gives random letters.
    """
    claims = "persistentvolumeclaims"
    asked: tuple[tuple[Plugin, Iterable[str]], ...] = (
        (LimitRanger(around), LIMITED),
        (PodAccount(around, suffix), ("pods",) if accounts else ()),
        (NodeTaint(), ("nodes",)),
        (PodSecurity(around), ("namespaces", "pods", *TEMPLATES)),
        (PodPriority(around), ("pods",)),
        (OneDefaultPriority(around), (CLASSES,)),
        (DefaultTolerations(), ("pods",)),
        (DefaultClass(around, STORAGE), (claims,)),
        (InUseProtection(), PROTECTIONS),
        (ClaimResize(around), (claims,)),
        (RuntimeClasses(around), ("pods",)),
        (DefaultClass(around, INGRESS), ("ingresses.networking.k8s.io",)),
        (TopologyLabels(around), ("pods",)),
        (Quotas(around), (LAST,)),
    )
    found: dict[str, list[Plugin]] = {}
    for plugin, buckets in asked:
        for bucket in buckets:
            found.setdefault(bucket, []).append(plugin)
    return found
