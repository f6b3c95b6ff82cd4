"""
What tenant A has: sources, repositories and a definition that cost as much as they may.
"""

from typing import Any

from benchmarks.source.workload import CONFIG_MAP
from kro_gitops.source.api.resources import GIT_SOURCE_KIND
from kube_objects.refs import Kind, KubeObject, ObjectRef

NAMESPACE = "tenant-a"
KIND = Kind("kro.run", "v1alpha1", "SlowShop")
INSTANCE = ObjectRef(KIND, NAMESPACE, "slow")
DOCUMENTS = 20_000  # as many as a source may have
_IN_FILE = 10_000
_FOREIGN = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x%d, namespace: other}}\n"
_UNKNOWN = "{apiVersion: v1, kind: Unknown, metadata: {name: x%d}}\n"
EXPRESSIONS = 1_000
_IN_CHILD = 100


def namespace() -> KubeObject:
    """Return the namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}


def source(name: str, url: str, **spec: Any) -> KubeObject:
    """Return a source that polls often."""
    return {
        "apiVersion": GIT_SOURCE_KIND.api_version,
        "kind": GIT_SOURCE_KIND.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"url": url, "interval": "1s", **spec},
    }


def documents(number: int) -> dict[str, str]:
    """
    Return the files of a repository with tiny documents.

    All of them are rejected, for one of two reasons by the number of the repository. Nothing is
    applied, so that tenant B does not wait for the API server.
    """
    sort = _UNKNOWN if number % 2 else _FOREIGN
    return {
        f"{first}.yaml": "---\n".join(sort % at for at in range(first, first + _IN_FILE))
        for first in range(0, DOCUMENTS, _IN_FILE)
    }


def definition(expression: str) -> KubeObject:
    """Return a definition with a thousand expressions that take the same time, all different."""
    resources = []
    for first in range(0, EXPRESSIONS, _IN_CHILD):
        numbers = range(first, first + _IN_CHILD)
        # Different ones: an expression that stands in several places is evaluated once.
        data = {f"key-{at}": f"${{{expression} + '-{at}'}}" for at in numbers}
        template = {
            "apiVersion": CONFIG_MAP.api_version,
            "kind": CONFIG_MAP.kind,
            "metadata": {"name": f"${{schema.metadata.name}}-{first}"},
            "data": data,
        }
        resources.append({"id": f"part{first}", "template": template})
    return {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "ResourceGraphDefinition",
        "metadata": {"name": "slow-shop"},
        "spec": {
            "schema": {
                "apiVersion": KIND.version,
                "kind": KIND.kind,
                "spec": {"size": "integer", "round": "integer"},
            },
            "resources": resources,
        },
    }


def instance(size: int, number: int) -> KubeObject:
    """Return the instance; `size` decides how long an expression takes."""
    return {
        "apiVersion": KIND.api_version,
        "kind": KIND.kind,
        "metadata": {"name": INSTANCE.name, "namespace": INSTANCE.namespace},
        "spec": {"size": size, "round": number},
    }
