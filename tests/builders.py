"""The smallest valid definition, instance and so on; a test states only what it is about."""

from typing import Any

from kro_gitops.engine.graph.build import Built, try_build
from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.engine.options import DEFAULTS, Options
from kube_objects.builtins.catalog import catalog

KIND = "Kiosk"


def config_map(name: str = "${schema.metadata.name}", **data: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def resource(id: str = "cm", template: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"id": id, "template": template or config_map(), **more}


def definition(
    *resources: dict[str, Any],
    spec: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
    **schema: Any,
) -> dict[str, Any]:
    written = {"apiVersion": "v1", "kind": KIND, "spec": spec or {}, **schema}
    if status is not None:
        written["status"] = status
    return {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "ResourceGraphDefinition",
        "metadata": {"name": "kiosk"},
        "spec": {"schema": written, "resources": list(resources)},
    }


def instance(spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    named = {"name": "corner", "namespace": "town", **metadata}
    return {"apiVersion": "kro.run/v1", "kind": KIND, "metadata": named, "spec": spec or {}}


def built(obj: dict[str, Any], options: Options = DEFAULTS) -> Built:
    return try_build(obj, catalog, options)


def graph(obj: dict[str, Any], options: Options = DEFAULTS) -> Graph:
    found = built(obj, options)
    assert found.graph is not None, [problem.message for problem in found.problems]
    return found.graph
