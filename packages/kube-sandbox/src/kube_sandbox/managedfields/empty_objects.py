"""
What an object of a built-in kind holds before anything is set.

In the API server built-in kinds are Go structs: some of their fields are there from the start,
empty or zero, and so are not new when an object is created. Everything else counts as added. A
custom resource starts with nothing.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/util/managedfields/internal/structuredmerge.go
structuredMergeManager.Update, structuredMergeManager.Apply.
"""

from typing import Any

from kube_objects.refs import KubeObject

# By apiVersion and kind; besides `metadata`, which all of them have.
_FIELDS: dict[tuple[str, str], dict[str, Any]] = {
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"): {},
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"): {"spec": {}, "status": {}},
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"): {"spec": {}},
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"): {},
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): {
        "spec": {"group": "", "names": {"plural": "", "kind": ""}, "scope": "", "versions": None},
        "status": {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": None,
        },
    },
    ("apiregistration.k8s.io/v1", "APIService"): {
        "spec": {"groupPriorityMinimum": 0, "versionPriority": 0},
        "status": {},
    },
    ("apps/v1", "ControllerRevision"): {"data": None, "revision": 0},
    ("apps/v1", "DaemonSet"): {
        "spec": {
            "selector": None,
            "template": {"metadata": {}, "spec": {"containers": None}},
            "updateStrategy": {},
        },
        "status": {
            "currentNumberScheduled": 0,
            "numberMisscheduled": 0,
            "desiredNumberScheduled": 0,
            "numberReady": 0,
        },
    },
    ("apps/v1", "Deployment"): {
        "spec": {
            "selector": None,
            "template": {"metadata": {}, "spec": {"containers": None}},
            "strategy": {},
        },
        "status": {},
    },
    ("apps/v1", "ReplicaSet"): {
        "spec": {"selector": None, "template": {"metadata": {}, "spec": {"containers": None}}},
        "status": {"replicas": 0},
    },
    ("apps/v1", "StatefulSet"): {
        "spec": {
            "selector": None,
            "template": {"metadata": {}, "spec": {"containers": None}},
            "serviceName": "",
            "updateStrategy": {},
        },
        "status": {"replicas": 0, "availableReplicas": 0},
    },
    ("authentication.k8s.io/v1", "SelfSubjectReview"): {"status": {"userInfo": {}}},
    ("authentication.k8s.io/v1", "TokenReview"): {"spec": {}, "status": {"user": {}}},
    ("authorization.k8s.io/v1", "LocalSubjectAccessReview"): {
        "spec": {},
        "status": {"allowed": False},
    },
    ("authorization.k8s.io/v1", "SelfSubjectAccessReview"): {
        "spec": {},
        "status": {"allowed": False},
    },
    ("authorization.k8s.io/v1", "SelfSubjectRulesReview"): {
        "spec": {},
        "status": {"resourceRules": None, "nonResourceRules": None, "incomplete": False},
    },
    ("authorization.k8s.io/v1", "SubjectAccessReview"): {"spec": {}, "status": {"allowed": False}},
    ("autoscaling/v1", "HorizontalPodAutoscaler"): {
        "spec": {"scaleTargetRef": {"kind": "", "name": ""}, "maxReplicas": 0},
        "status": {"currentReplicas": 0, "desiredReplicas": 0},
    },
    ("autoscaling/v2", "HorizontalPodAutoscaler"): {
        "spec": {"scaleTargetRef": {"kind": "", "name": ""}, "maxReplicas": 0},
        "status": {"desiredReplicas": 0, "currentMetrics": None},
    },
    ("batch/v1", "CronJob"): {
        "spec": {
            "schedule": "",
            "jobTemplate": {
                "metadata": {},
                "spec": {"template": {"metadata": {}, "spec": {"containers": None}}},
            },
        },
        "status": {},
    },
    ("batch/v1", "Job"): {
        "spec": {"template": {"metadata": {}, "spec": {"containers": None}}},
        "status": {},
    },
    ("certificates.k8s.io/v1", "CertificateSigningRequest"): {
        "spec": {"request": None, "signerName": ""},
        "status": {},
    },
    ("coordination.k8s.io/v1", "Lease"): {"spec": {}},
    ("discovery.k8s.io/v1", "EndpointSlice"): {"addressType": "", "endpoints": None, "ports": None},
    ("events.k8s.io/v1", "Event"): {
        "eventTime": None,
        "regarding": {},
        "deprecatedSource": {},
        "deprecatedFirstTimestamp": None,
        "deprecatedLastTimestamp": None,
    },
    ("flowcontrol.apiserver.k8s.io/v1", "FlowSchema"): {
        "spec": {"priorityLevelConfiguration": {"name": ""}, "matchingPrecedence": 0},
        "status": {},
    },
    ("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration"): {
        "spec": {"type": ""},
        "status": {},
    },
    ("networking.k8s.io/v1", "IPAddress"): {"spec": {}},
    ("networking.k8s.io/v1", "Ingress"): {"spec": {}, "status": {"loadBalancer": {}}},
    ("networking.k8s.io/v1", "IngressClass"): {"spec": {}},
    ("networking.k8s.io/v1", "NetworkPolicy"): {"spec": {"podSelector": {}}},
    ("networking.k8s.io/v1", "ServiceCIDR"): {"spec": {}, "status": {}},
    ("node.k8s.io/v1", "RuntimeClass"): {"handler": ""},
    ("policy/v1", "PodDisruptionBudget"): {
        "spec": {},
        "status": {
            "disruptionsAllowed": 0,
            "currentHealthy": 0,
            "desiredHealthy": 0,
            "expectedPods": 0,
        },
    },
    ("rbac.authorization.k8s.io/v1", "ClusterRole"): {"rules": None},
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): {
        "roleRef": {"apiGroup": "", "kind": "", "name": ""}
    },
    ("rbac.authorization.k8s.io/v1", "Role"): {"rules": None},
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): {
        "roleRef": {"apiGroup": "", "kind": "", "name": ""}
    },
    ("resource.k8s.io/v1", "DeviceClass"): {"spec": {}},
    ("resource.k8s.io/v1", "ResourceClaim"): {
        "spec": {"devices": {"requests": None}},
        "status": {},
    },
    ("resource.k8s.io/v1", "ResourceClaimTemplate"): {
        "spec": {"metadata": {}, "spec": {"devices": {"requests": None}}}
    },
    ("resource.k8s.io/v1", "ResourceSlice"): {
        "spec": {"driver": "", "pool": {"name": "", "generation": 0, "resourceSliceCount": 0}}
    },
    ("scheduling.k8s.io/v1", "PriorityClass"): {"value": 0},
    ("storage.k8s.io/v1", "CSIDriver"): {"spec": {}},
    ("storage.k8s.io/v1", "CSINode"): {"spec": {"drivers": None}},
    ("storage.k8s.io/v1", "CSIStorageCapacity"): {"storageClassName": ""},
    ("storage.k8s.io/v1", "StorageClass"): {"provisioner": ""},
    ("storage.k8s.io/v1", "VolumeAttachment"): {
        "spec": {"attacher": "", "source": {}, "nodeName": ""},
        "status": {"attached": False},
    },
    ("storage.k8s.io/v1", "VolumeAttributesClass"): {"driverName": ""},
    ("v1", "Binding"): {"target": {}},
    ("v1", "ComponentStatus"): {},
    ("v1", "ConfigMap"): {},
    ("v1", "Endpoints"): {},
    ("v1", "Event"): {
        "involvedObject": {},
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "eventTime": None,
        "reportingComponent": "",
        "reportingInstance": "",
    },
    ("v1", "LimitRange"): {"spec": {"limits": None}},
    ("v1", "Namespace"): {"spec": {}, "status": {}},
    ("v1", "Node"): {
        "spec": {},
        "status": {
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
            "nodeInfo": {
                "machineID": "",
                "systemUUID": "",
                "bootID": "",
                "kernelVersion": "",
                "osImage": "",
                "containerRuntimeVersion": "",
                "kubeletVersion": "",
                "kubeProxyVersion": "",
                "operatingSystem": "",
                "architecture": "",
            },
        },
    },
    ("v1", "PersistentVolume"): {"spec": {}, "status": {}},
    ("v1", "PersistentVolumeClaim"): {"spec": {"resources": {}}, "status": {}},
    ("v1", "Pod"): {"spec": {"containers": None}, "status": {}},
    ("v1", "PodTemplate"): {"template": {"metadata": {}, "spec": {"containers": None}}},
    ("v1", "ReplicationController"): {"spec": {}, "status": {"replicas": 0}},
    ("v1", "ResourceQuota"): {"spec": {}, "status": {}},
    ("v1", "Secret"): {},
    ("v1", "Service"): {"spec": {}, "status": {"loadBalancer": {}}},
    ("v1", "ServiceAccount"): {},
}


def empty_object(like: KubeObject) -> KubeObject:
    """Return an object of the same kind before anything is set."""
    version, kind = like.get("apiVersion", ""), like.get("kind", "")
    fields = _FIELDS.get((version, kind))
    start = {"apiVersion": version, "kind": kind}
    return start if fields is None else {**start, "metadata": {}, **fields}
