"""
A repository with many instances, each in a file of its own, and a definition of one child.

All of it follows from the number of an instance and what it is to say. The same kind is there once
more under another name: its instances are nobody's, so that bare requests can be measured beside
a controller without giving it work.
"""

from typing import Any

import yaml

from kro_gitops.engine.graph.build import build
from kro_gitops.source.api.resources import GIT_SOURCE_KIND
from kube_objects.builtins.catalog import catalog
from kube_objects.refs import Kind, KubeObject, ObjectRef

NAMESPACE = "benchmark"
SOURCE = ObjectRef(GIT_SOURCE_KIND, NAMESPACE, "repo")
DEFINITION = "benchmark-shop"
KIND = Kind("kro.run", "v1alpha1", "BenchmarkShop")
BARE = Kind("kro.run", "v1alpha1", "BareShop")
CONFIG_MAP = Kind("", "v1", "ConfigMap")
DEFINITION_FILE = "definitions/shop.yaml"
FIRST = "as it was at first"
_FOLDER_SIZE = 100  # instances


def definition(kind: Kind = KIND) -> KubeObject:
    """Return the definition."""
    template = _config_map("${schema.metadata.name}-greeting", "${schema.spec.greeting}")
    return {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "ResourceGraphDefinition",
        "metadata": {"name": DEFINITION},
        "spec": {
            "schema": {
                "apiVersion": kind.version,
                "kind": kind.kind,
                "spec": {"greeting": "string", "replicas": "integer | default=2 minimum=1"},
            },
            "resources": [{"id": "greeting", "template": template}],
        },
    }


def bare_crd() -> KubeObject:
    """Return the CRD of the kind that belongs to no definition."""
    return build(definition(BARE), catalog).crd


def name_of(number: int) -> str:
    """Return the name of an instance."""
    return f"shop-{number:05}"


def instance(number: int, greeting: str = FIRST, kind: Kind = KIND) -> KubeObject:
    """Return an instance as its author writes it."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name_of(number), "namespace": NAMESPACE},
        "spec": {"greeting": greeting, "replicas": 1 + number % 9},
    }


def child_ref(number: int) -> ObjectRef:
    """Return where the child that tells what an instance says is found."""
    return ObjectRef(CONFIG_MAP, NAMESPACE, f"{name_of(number)}-greeting")


def child(number: int, greeting: str, prefix: str = "") -> KubeObject:
    """Return what an instance becomes; with a prefix, in nobody's name."""
    made = _config_map(f"{prefix}{child_ref(number).name}", greeting)
    made["metadata"]["namespace"] = NAMESPACE
    return made


def file_of(number: int) -> str:
    """Return the file of an instance: folders have a hundred each."""
    return f"instances/{number // _FOLDER_SIZE:03}/{name_of(number)}.yaml"


def text_of(obj: KubeObject) -> str:
    """Write an object as it stands in git."""
    return yaml.safe_dump(obj, sort_keys=False)


def files(count: int) -> dict[str, str]:
    """Return all files of the repository."""
    shops = {file_of(number): text_of(instance(number)) for number in range(count)}
    return {DEFINITION_FILE: text_of(definition()), **shops}


def source(url: str, interval: str) -> KubeObject:
    """Return the source that follows the repository."""
    everything = {"namespaces": ["*"], "kinds": ["*"], "clusterScoped": True, "rgds": True}
    return {
        "apiVersion": SOURCE.kind.api_version,
        "kind": SOURCE.kind.kind,
        "metadata": {"name": SOURCE.name, "namespace": SOURCE.namespace},
        "spec": {"url": url, "interval": interval, "allow": everything, "healthTimeout": "1h"},
    }


def _config_map(name: str, greeting: str) -> dict[str, Any]:
    return {
        "apiVersion": CONFIG_MAP.api_version,
        "kind": CONFIG_MAP.kind,
        "metadata": {"name": name},
        "data": {"greeting": greeting},
    }
