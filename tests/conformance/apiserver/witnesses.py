"""
Sequences that meet a known difference for sure, where those made by chance seldom do.

Each shows that its entry in known.toml is still true; one that is no difference any more goes, with
its entry.
"""

from typing import Any

from tests.conformance.apiserver.steps import Step

_JSON = (("Content-Type", "application/json"),)
_APPLY = (("Content-Type", "application/apply-patch+yaml"),)
_TABLE = (("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"),)

_CORE = "/api/v1/namespaces/{ns}"
_DEPLOYMENTS = "/apis/apps/v1/namespaces/{ns}/deployments"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_NAME = "things.{ns}.example.com"
_SETTLING = 1.5  # seconds until a new definition is as it stays


def _definition(schema: Any) -> dict[str, Any]:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": _NAME},
        "spec": {
            "group": "{ns}.example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
            "versions": [version],
        },
    }


def _deployment() -> dict[str, Any]:
    labels = {"app": "a"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "a", "image": "a"}]},
    }
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec}


_NEW_DEFINITION = Step(
    "POST", _DEFINITIONS, (), _definition({"type": "object"}), _JSON, pause=_SETTLING
)

WITNESSES: dict[str, list[Step]] = {
    "limit-range-without-name": [
        Step("POST", f"{_CORE}/limitranges", (), {"spec": {"limits": []}}, _JSON)
    ],
    "definition-schema-types": [
        Step(
            "PATCH",
            f"{_DEFINITIONS}/{_NAME}",
            (("fieldManager", "one"),),
            _definition({"properties": {"spec": {"type": "object", "required": "a"}}}),
            _APPLY,
        )
    ],
    "definition-status-table": [
        _NEW_DEFINITION,
        Step("GET", f"{_DEFINITIONS}/{_NAME}/status", headers=_TABLE),
    ],
    "scale-as-table": [
        Step("POST", _DEPLOYMENTS, (), _deployment(), _JSON),
        Step("GET", f"{_DEPLOYMENTS}/a/scale", headers=_TABLE),
    ],
}
