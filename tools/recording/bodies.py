"""
Record objects as a real API server tells them, in protobuf and in JSON.

It wants a server that serves nothing else.

    python -m tools.recording.bodies
"""

import time
from base64 import b64encode
from pathlib import Path

from tools.recording.api_definitions import DEFINITIONS
from tools.recording.client import CRDS, Client, Json
from tools.recording.command import TESTS, command_line, run

FILE = TESTS / "data" / "api_bodies.json.xz"
PROTOBUF = "application/vnd.kubernetes.protobuf"
HERE = "namespaces/default"
TEMPLATE: Json = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "i",
                "ports": [{"containerPort": 80}],
                "resources": {"limits": {"cpu": "500m"}},
                "env": [{"name": "E", "value": ""}],
                "readinessProbe": {"httpGet": {"port": "http", "path": "/"}},
                "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                "securityContext": {"runAsUser": 0, "privileged": False},
            }
        ],
        "volumes": [
            {"name": "v", "emptyDir": {"sizeLimit": "1Gi"}},
            {"name": "w", "configMap": {"name": "x", "defaultMode": 0}},
        ],
        "terminationGracePeriodSeconds": 0,
    },
}
OBJECTS: tuple[tuple[str, Json], ...] = (
    (
        "/api/v1/nodes",
        {"metadata": {"name": "n"}, "spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}},
    ),
    (
        f"/api/v1/{HERE}/configmaps",
        {"metadata": {"name": "x"}, "data": {"a": ""}, "binaryData": {"b": "AP8="}},
    ),
    (
        f"/api/v1/{HERE}/secrets",
        {"metadata": {"name": "x"}, "data": {"a": "Yg=="}, "immutable": False},
    ),
    (
        f"/apis/apps/v1/{HERE}/deployments",
        {
            "metadata": {"name": "x"},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"a": "b"}},
                "template": TEMPLATE,
                "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}},
            },
        },
    ),
    (f"/api/v1/{HERE}/pods", {"metadata": {"name": "x"}, "spec": TEMPLATE["spec"]}),
    (
        f"/apis/batch/v1/{HERE}/cronjobs",
        {
            "metadata": {"name": "x"},
            "spec": {
                "schedule": "* * * * *",
                "suspend": False,
                "jobTemplate": {
                    "spec": {"template": {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}}
                },
            },
        },
    ),
    (
        f"/apis/coordination.k8s.io/v1/{HERE}/leases",
        {
            "metadata": {"name": "x", "finalizers": ["a.example.com/b"]},
            "spec": {"renewTime": "2026-03-01T12:00:00.123456Z", "leaseDurationSeconds": 15},
        },
    ),
    (
        f"/apis/networking.k8s.io/v1/{HERE}/networkpolicies",
        {"metadata": {"name": "x"}, "spec": {"podSelector": {}, "ingress": [{}]}},
    ),
    (
        f"/apis/policy/v1/{HERE}/poddisruptionbudgets",
        {"metadata": {"name": "x"}, "spec": {"minAvailable": "50%", "selector": {}}},
    ),
    (CRDS, DEFINITIONS[0]),
)


def record(client: Client) -> dict[Path, Json]:
    """Return the lists of what was made, in both forms."""
    for path, body in OBJECTS:
        client.create(path, body)
    time.sleep(3)  # until nobody changes them any more
    found = []
    for path, _ in OBJECTS:
        raw = client.ask("GET", path, headers={"Accept": PROTOBUF}).content
        told = client.ask("GET", path).body
        found.append({"protobuf": b64encode(raw).decode(), "json": told})
    return {FILE: {"bodies": found}}


def main() -> None:
    """Record, and write the file."""
    run(record, command_line(__doc__).parse_args())


if __name__ == "__main__":
    main()
