"""
Strategies of the kinds that run nothing, by plural with group.
"""

from collections.abc import Mapping

from kube_sandbox.registry.builtin.config_maps import CONFIG_MAPS
from kube_sandbox.registry.builtin.defaulted_only import (
    ADMISSION_POLICIES,
    API_SERVICES,
    ATTACHMENTS,
    ATTRIBUTES_CLASSES,
    DEVICE_CLAIM_TEMPLATES,
    DEVICE_CLAIMS,
    DRIVERS,
    FLOWS,
    MUTATING_WEBHOOKS,
    POLICY_BINDINGS,
    PRIORITY_LEVELS,
    VALIDATING_WEBHOOKS,
)
from kube_sandbox.registry.builtin.endpoints import ENDPOINT_SLICES, ENDPOINTS
from kube_sandbox.registry.builtin.events import EVENTS, NEW_EVENTS
from kube_sandbox.registry.builtin.ingresses import INGRESS_CLASSES, INGRESSES
from kube_sandbox.registry.builtin.leases import LEASES
from kube_sandbox.registry.builtin.limit_ranges_and_quotas import LIMIT_RANGES, QUOTAS
from kube_sandbox.registry.builtin.namespaces import NAMESPACES
from kube_sandbox.registry.builtin.network_policies import NETWORK_POLICIES
from kube_sandbox.registry.builtin.nodes import NODES, RUNTIME_CLASSES
from kube_sandbox.registry.builtin.persistent_volume_claims import CLAIMS
from kube_sandbox.registry.builtin.persistent_volumes import STORAGE_CLASSES, VOLUMES
from kube_sandbox.registry.builtin.priority_classes import PRIORITY_CLASSES
from kube_sandbox.registry.builtin.rbac import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
)
from kube_sandbox.registry.builtin.secrets import SECRETS
from kube_sandbox.registry.builtin.service_accounts import SERVICE_ACCOUNTS
from kube_sandbox.registry.strategy import Strategy

NON_WORKLOAD_STRATEGIES: Mapping[str, Strategy] = {
    "apiservices.apiregistration.k8s.io": API_SERVICES,
    "clusterrolebindings.rbac.authorization.k8s.io": CLUSTER_ROLE_BINDINGS,
    "clusterroles.rbac.authorization.k8s.io": CLUSTER_ROLES,
    "configmaps": CONFIG_MAPS,
    "csidrivers.storage.k8s.io": DRIVERS,
    "endpoints": ENDPOINTS,
    "endpointslices.discovery.k8s.io": ENDPOINT_SLICES,
    "events": EVENTS,
    "events.events.k8s.io": NEW_EVENTS,
    "flowschemas.flowcontrol.apiserver.k8s.io": FLOWS,
    "ingressclasses.networking.k8s.io": INGRESS_CLASSES,
    "ingresses.networking.k8s.io": INGRESSES,
    "leases.coordination.k8s.io": LEASES,
    "limitranges": LIMIT_RANGES,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": MUTATING_WEBHOOKS,
    "namespaces": NAMESPACES,
    "networkpolicies.networking.k8s.io": NETWORK_POLICIES,
    "nodes": NODES,
    "persistentvolumeclaims": CLAIMS,
    "persistentvolumes": VOLUMES,
    "priorityclasses.scheduling.k8s.io": PRIORITY_CLASSES,
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": PRIORITY_LEVELS,
    "resourceclaims.resource.k8s.io": DEVICE_CLAIMS,
    "resourceclaimtemplates.resource.k8s.io": DEVICE_CLAIM_TEMPLATES,
    "resourcequotas": QUOTAS,
    "rolebindings.rbac.authorization.k8s.io": ROLE_BINDINGS,
    "roles.rbac.authorization.k8s.io": ROLES,
    "runtimeclasses.node.k8s.io": RUNTIME_CLASSES,
    "secrets": SECRETS,
    "serviceaccounts": SERVICE_ACCOUNTS,
    "storageclasses.storage.k8s.io": STORAGE_CLASSES,
    "validatingadmissionpolicies.admissionregistration.k8s.io": ADMISSION_POLICIES,
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": POLICY_BINDINGS,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": VALIDATING_WEBHOOKS,
    "volumeattachments.storage.k8s.io": ATTACHMENTS,
    "volumeattributesclasses.storage.k8s.io": ATTRIBUTES_CLASSES,
}
