"""The kinds that run nothing, by plural with group."""

from collections.abc import Mapping

from kro_gitops.apiserver.builtins.claims import CLAIMS
from kro_gitops.apiserver.builtins.config_maps import CONFIG_MAPS
from kro_gitops.apiserver.builtins.endpoints import ENDPOINT_SLICES, ENDPOINTS
from kro_gitops.apiserver.builtins.events import EVENTS, NEW_EVENTS
from kro_gitops.apiserver.builtins.filled_kinds import (
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
from kro_gitops.apiserver.builtins.ingresses import INGRESS_CLASSES, INGRESSES
from kro_gitops.apiserver.builtins.leases import LEASES
from kro_gitops.apiserver.builtins.limits import LIMIT_RANGES, QUOTAS
from kro_gitops.apiserver.builtins.namespaces import NAMESPACES
from kro_gitops.apiserver.builtins.network_policies import NETWORK_POLICIES
from kro_gitops.apiserver.builtins.nodes import NODES, RUNTIME_CLASSES
from kro_gitops.apiserver.builtins.priorities import PRIORITY_CLASSES
from kro_gitops.apiserver.builtins.rbac import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
)
from kro_gitops.apiserver.builtins.secrets import SECRETS
from kro_gitops.apiserver.builtins.service_accounts import SERVICE_ACCOUNTS
from kro_gitops.apiserver.builtins.volumes import STORAGE_CLASSES, VOLUMES
from kro_gitops.apiserver.strategy import Strategy

OTHERS: Mapping[str, Strategy] = {
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
