"""
Rollouts as a script that can be played to any cluster: what is done, and what is then seen.

No node is needed: the script itself says of pods that they are ready, two at a time.
"""

import json
from collections.abc import Iterator
from typing import Any, Protocol

NAMESPACE = "f-recorded-rollouts"
OWN = "deployment.kubernetes.io/"
LABELS = {"a": "b"}
READY = {
    "phase": "Running",
    "conditions": [
        {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    ],
}
DEPLOYMENTS: tuple[tuple[int, dict[str, Any], int], ...] = (
    (5, {"maxSurge": "25%", "maxUnavailable": "25%"}, 0),
    (7, {"maxSurge": 2, "maxUnavailable": 0}, 0),
    (4, {"maxSurge": 0, "maxUnavailable": "50%"}, 0),
    (3, {}, 0),
    (4, {"maxSurge": 1, "maxUnavailable": 1}, 8),
    (6, {"maxSurge": 1, "maxUnavailable": 1}, 2),
)
STATEFUL_SETS: tuple[tuple[int, str, int], ...] = (
    (3, "OrderedReady", 0),
    (3, "Parallel", 0),
    (3, "OrderedReady", 2),
)


class Cluster(Protocol):
    """What the script is played to; all objects are in one namespace."""

    def add(self, bucket: str, obj: dict[str, Any]) -> None:
        """Create an object."""

    def change(self, bucket: str, name: str, spec: dict[str, Any]) -> None:
        """Merge into an object's spec."""

    def set_status(self, bucket: str, name: str, status: dict[str, Any]) -> None:
        """Merge into an object's status."""

    def all(self, bucket: str) -> list[dict[str, Any]]:
        """Return the objects of a bucket, in the order of their names."""

    def rest(self) -> None:
        """Wait until nothing happens any more."""

    def clear(self, bucket: str, name: str) -> None:
        """Delete an object and all that it owns."""


def template(image: str) -> dict[str, Any]:
    """Make a template."""
    containers = [{"name": "a", "image": image}]
    return {"metadata": {"labels": LABELS}, "spec": {"containers": containers}}


def make_ready(cluster: Cluster, image: str, most: int) -> bool:
    """Say of some pods of an image that they are ready; say whether there were any."""
    waiting = [
        each["metadata"]["name"]
        for each in cluster.all("pods")
        if each["status"].get("phase") == "Pending"
        and each["spec"]["containers"][0]["image"] == image
    ]
    for name in waiting[:most]:
        cluster.set_status("pods", name, READY)
    cluster.rest()
    return bool(waiting)


def deployment_seen(cluster: Cluster) -> Any:
    """Return what is compared of a Deployment."""
    (found,) = cluster.all("deployments.apps")
    status = {name: value for name, value in found["status"].items() if name != "conditions"}
    conditions = [
        [each["type"], each["status"], each["reason"]] for each in found["status"]["conditions"]
    ]
    sets = []
    for each in cluster.all("replicasets.apps"):
        notes = each["metadata"]["annotations"]
        counts = {k: v for k, v in each["status"].items() if k != "observedGeneration"}
        named = [notes[f"{OWN}{note}"] for note in ("revision", "desired-replicas", "max-replicas")]
        sets.append([*named, each["spec"]["replicas"], counts])
    revision = found["metadata"]["annotations"][f"{OWN}revision"]
    return [status, conditions, revision, sorted(sets, key=json.dumps)]


def roll_deployment(
    cluster: Cluster, replicas: int, rolling: dict[str, Any], scaled: int
) -> Iterator[Any]:
    """Make a Deployment, change its image, perhaps its size, and change the image back."""
    strategy = (
        {"type": "RollingUpdate", "rollingUpdate": rolling} if rolling else {"type": "Recreate"}
    )
    spec = {
        "replicas": replicas,
        "strategy": strategy,
        "selector": {"matchLabels": LABELS},
        "template": template("x"),
        "progressDeadlineSeconds": 600,
        "revisionHistoryLimit": 10,
    }
    cluster.add(
        "deployments.apps",
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec},
    )
    cluster.rest()
    yield deployment_seen(cluster)
    make_ready(cluster, "x", replicas)
    for image in ("y", "x"):
        cluster.change("deployments.apps", "web", {"template": template(image)})
        cluster.rest()
        yield deployment_seen(cluster)
        for turn in range(12):
            if not make_ready(cluster, image, 2):
                break
            yield deployment_seen(cluster)
            if scaled and turn == 1 and image == "y":
                cluster.change("deployments.apps", "web", {"replicas": scaled})
                cluster.rest()
                yield deployment_seen(cluster)
    cluster.clear("deployments.apps", "web")


def stateful_set_seen(cluster: Cluster) -> Any:
    """Return what is compared of a StatefulSet; revisions by their numbers."""
    (found,) = cluster.all("statefulsets.apps")
    revisions = {
        each["metadata"]["name"]: each["revision"]
        for each in cluster.all("controllerrevisions.apps")
    }
    status = {
        name: revisions.get(value, value) if isinstance(value, str) else value
        for name, value in found["status"].items()
    }
    pods = [
        [each["metadata"]["name"], each["spec"]["containers"][0]["image"]]
        for each in cluster.all("pods")
    ]
    return [status, pods, sorted(revisions.values())]


def roll_stateful_set(
    cluster: Cluster, replicas: int, policy: str, partition: int
) -> Iterator[Any]:
    """Make a StatefulSet, change its image, and make it smaller."""
    update = {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}}
    spec = {
        "replicas": replicas,
        "podManagementPolicy": policy,
        "updateStrategy": update,
        "serviceName": "s",
        "selector": {"matchLabels": LABELS},
        "template": template("x"),
        "revisionHistoryLimit": 10,
    }
    cluster.add(
        "statefulsets.apps",
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": spec},
    )
    cluster.rest()
    yield stateful_set_seen(cluster)
    for image in ("x", "y"):
        if image == "y":
            cluster.change("statefulsets.apps", "db", {"template": template("y")})
            cluster.rest()
            yield stateful_set_seen(cluster)
        for _ in range(8):
            if not make_ready(cluster, image, 1):
                break
            yield stateful_set_seen(cluster)
    cluster.change("statefulsets.apps", "db", {"replicas": 1})
    cluster.rest()
    yield stateful_set_seen(cluster)
    cluster.clear("statefulsets.apps", "db")
