"""
Which plugins apply to which kinds, in the order in which they run.

Follows kubernetes 1.35 pkg/kubeapiserver/options/plugins.go AllOrderedPlugins,
DefaultOffAdmissionPlugins.
"""

from collections.abc import Callable, Iterable

from kube_sandbox.admission.plugins.default_classes import INGRESS, STORAGE, DefaultClass
from kube_sandbox.admission.plugins.default_toleration_seconds import DefaultTolerations
from kube_sandbox.admission.plugins.interface import LAST, AdmissionContext, Plugin, Plugins
from kube_sandbox.admission.plugins.limit_ranger import BUCKETS as LIMITED
from kube_sandbox.admission.plugins.limit_ranger import LimitRanger
from kube_sandbox.admission.plugins.node_taints_and_topology import NodeTaint, TopologyLabels
from kube_sandbox.admission.plugins.pod_security.plugin import TEMPLATES, PodSecurity
from kube_sandbox.admission.plugins.priority import CLASSES, OneDefaultPriority, PodPriority
from kube_sandbox.admission.plugins.resource_quota import Quotas
from kube_sandbox.admission.plugins.runtime_class import RuntimeClasses
from kube_sandbox.admission.plugins.service_account import PodAccount
from kube_sandbox.admission.plugins.storage_protection import (
    PROTECTIONS,
    ClaimResize,
    InUseProtection,
)


def default_plugins(
    context: AdmissionContext, *, accounts: bool, suffix: Callable[[], str]
) -> Plugins:
    """
    Return all plugins by kind.

    `accounts`: namespaces get a default service account; `suffix` returns random letters.
    """
    claims = "persistentvolumeclaims"
    asked: tuple[tuple[Plugin, Iterable[str]], ...] = (
        (LimitRanger(context), LIMITED),
        (PodAccount(context, suffix), ("pods",) if accounts else ()),
        (NodeTaint(), ("nodes",)),
        (PodSecurity(context), ("namespaces", "pods", *TEMPLATES)),
        (PodPriority(context), ("pods",)),
        (OneDefaultPriority(context), (CLASSES,)),
        (DefaultTolerations(), ("pods",)),
        (DefaultClass(context, STORAGE), (claims,)),
        (InUseProtection(), PROTECTIONS),
        (ClaimResize(context), (claims,)),
        (RuntimeClasses(context), ("pods",)),
        (DefaultClass(context, INGRESS), ("ingresses.networking.k8s.io",)),
        (TopologyLabels(context), ("pods",)),
        (Quotas(context), (LAST,)),
    )
    found: dict[str, list[Plugin]] = {}
    for plugin, buckets in asked:
        for bucket in buckets:
            found.setdefault(bucket, []).append(plugin)
    return found
