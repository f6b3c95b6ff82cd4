"""
Record objects as a real API server tells them, in protobuf and in JSON.

    tools/kube/build.sh etcd kube-apiserver && python -m tools.record_bodies
"""

import argparse
import json
import lzma
import sys
import time
from base64 import b64encode
from pathlib import Path
from typing import Any

from tools.cluster.control_plane import control_plane, leave_on_signals
from tools.cluster.parts import ToolError
from tools.record_api_answers import DATA, DEFINITIONS, Client, asking, sending

Json = dict[str, Any]

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
    ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITIONS[0]),
)


def record(client: Client) -> list[Json]:
    """Return the lists of what was made, in both forms."""
    for path, body in OBJECTS:
        code, text, _ = client.send(sending(path, body))
        if code != 201:
            raise ToolError(text)
    time.sleep(3)  # until nobody changes them any more
    found = []
    for path, _ in OBJECTS:
        _, told, _ = client.send(asking(path))
        raw = client.read(path, "application/vnd.kubernetes.protobuf")
        found.append({"protobuf": b64encode(raw).decode(), "json": json.loads(told)})
    return found


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder to write to")
    arguments = parser.parse_args()
    leave_on_signals()
    try:
        with control_plane() as server:
            recorded = record(Client(server))
    except ToolError as failure:
        sys.exit(f"record_bodies: {failure}")
    text = json.dumps({"bodies": recorded}, separators=(",", ":")).encode()
    (arguments.data / "api_bodies.json.xz").write_bytes(lzma.compress(text))
    print(f"{arguments.data}: {len(recorded)} bodies")


if __name__ == "__main__":
    main()
