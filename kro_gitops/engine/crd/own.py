"""
The CRDs that this program brings along: ResourceGraphDefinition and GraphRevision.

They do what kro's do: the same objects are accepted, rejected, defaulted and pruned, with the same
messages, and `kubectl get` shows the same columns. So each can be installed over the other while a
cluster changes hands, and no stored object notices. Shapes come from `engine.api`; here they get
what only a CRD needs: rules, names, and a text for every field that `kubectl explain` shows.
"""

from kro_gitops.engine.api import (
    DEFINITION_COLUMNS,
    DEFINITION_KIND,
    DEFINITION_PLURAL,
    DEFINITION_SCHEMA,
    REVISION_COLUMNS,
    REVISION_SCHEMA,
    Schema,
)
from kro_gitops.engine.crd.template import CrdNames, crd_object, crd_version, with_descriptions
from kro_gitops.engine.revision import REVISION_KIND, REVISION_PLURAL
from kube_objects.refs import KubeObject

_REVISION_SPEC = "spec.snapshot."  # where a revision keeps the definition's `spec`

_TYPE_TEXTS = {
    "apiVersion": "The group and version of this object.",
    "kind": "The kind of this object.",
}

_SPEC_TEXTS = {
    "spec": "The schema of the kind, and the resources of each instance.",
    "spec.schema": "The kind to serve: its names, fields and status.",
    "spec.schema.kind": "The kind of the instances, in PascalCase. It cannot be changed.",
    "spec.schema.apiVersion": "The version of the kind, for example v1alpha1. "
    "It cannot be changed.",
    "spec.schema.group": "The API group of the kind. It cannot be changed.",
    "spec.schema.scope": "The scope of instances. It cannot be changed.",
    "spec.schema.spec": "The fields of an instance's spec, in SimpleSchema: "
    "`replicas: integer | default=1 minimum=1`.",
    "spec.schema.types": "Named types, for use in the spec.",
    "spec.schema.status": "The fields of an instance's status: expressions over its children, "
    "`endpoint: ${service.spec.clusterIP}`.",
    "spec.schema.additionalPrinterColumns": "Columns of `kubectl get`, instead of state, "
    "readiness and age.",
    "spec.schema.additionalPrinterColumns[]": "A column.",
    "spec.schema.additionalPrinterColumns[].name": "The heading of the column.",
    "spec.schema.additionalPrinterColumns[].type": "The OpenAPI type of the value.",
    "spec.schema.additionalPrinterColumns[].jsonPath": "The JSON path of the value in an instance.",
    "spec.schema.additionalPrinterColumns[].description": "The description of the column.",
    "spec.schema.additionalPrinterColumns[].format": "The OpenAPI format of the value.",
    "spec.schema.additionalPrinterColumns[].priority": "0: always shown; higher numbers only with "
    "`-o wide`.",
    "spec.schema.shortNames": "Short names for kubectl.",
    "spec.schema.categories": "Categories for kubectl: `kubectl get CATEGORY` lists all kinds "
    "of the category.",
    "spec.schema.metadata": "Metadata of the generated CRD.",
    "spec.schema.metadata.labels": "Labels of the generated CRD.",
    "spec.schema.metadata.annotations": "Annotations of the generated CRD.",
    "spec.resources": "The resources of an instance. Expressions may read other resources, "
    "which are then applied first.",
    "spec.resources[]": "An object to create, several with forEach, or an external object to read.",
    "spec.resources[].id": "The name by which expressions read the object.",
    "spec.resources[].template": "The object to create, with expressions in ${…}.",
    "spec.resources[].externalRef": "An object of another owner; it is read, never written.",
    "spec.resources[].externalRef.apiVersion": "The group and version of the object: apps/v1.",
    "spec.resources[].externalRef.kind": "The kind of the object.",
    "spec.resources[].externalRef.metadata": "An object by name, or all that match a selector.",
    "spec.resources[].externalRef.metadata.name": "The name of the object; not with a selector.",
    "spec.resources[].externalRef.metadata.namespace": "The namespace of the object. Without it "
    "a name is looked up in the instance's namespace, and a selector in all.",
    "spec.resources[].externalRef.metadata.selector": "A label selector, or one expression that "
    "returns one; not with a name.",
    "spec.resources[].readyWhen": "Expressions that must all be true before the object is ready. "
    "Without any, it is ready when it exists.",
    "spec.resources[].includeWhen": "Expressions that must all be true for the object to exist. "
    "They are evaluated again after every change.",
    "spec.resources[].forEach": "Lists to iterate over. With several, there is one object for "
    "every combination.",
    "spec.resources[].forEach[]": "An iterator, and the expression that returns its list.",
}

_PROGRESS_TEXTS = {
    "status": "The observed state.",
    "status.topologicalOrder": "The ids of the resources, in the order of creation.",
    "status.resources": "The dependencies between resources.",
    "status.resources[].id": "The id of the resource.",
    "status.resources[].dependencies": "The resources it reads.",
    "status.resources[].dependencies[].id": "The id of the resource that is read.",
    "status.conditions": "The conditions; Ready summarizes them.",
    "status.conditions[].type": "The type of the condition.",
    "status.conditions[].status": "True, False or Unknown.",
    "status.conditions[].reason": "The reason as a word in CamelCase.",
    "status.conditions[].message": "The reason as a readable message.",
    "status.conditions[].lastTransitionTime": "The last time the status of the condition changed.",
    "status.conditions[].observedGeneration": "The generation of the object that was observed.",
}

_DEFINITION_TEXTS = {
    "": "Defines a kind, and the resources of each of its instances.",
    **_TYPE_TEXTS,
    **_SPEC_TEXTS,
    **_PROGRESS_TEXTS,
    "status.state": "Active if the kind is served and its instances are reconciled, "
    "otherwise Inactive.",
    "status.lastIssuedRevision": "The highest revision number of this definition so far.",
}

_REVISION_TEXTS = {
    "": "A stored revision of a definition's spec. It is immutable.",
    **_TYPE_TEXTS,
    **{_REVISION_SPEC + path: text for path, text in _SPEC_TEXTS.items()},
    **_PROGRESS_TEXTS,
    "spec": "The definition and its stored spec.",
    "spec.revision": "The number of the revision; numbers of a definition only increase.",
    "spec.snapshot": "The definition at the time of the revision.",
    "spec.snapshot.name": "The name of the definition.",
    "spec.snapshot.generation": "The generation of the definition; for information only.",
}

_SPEC_RULES: dict[str, Schema] = {
    # Always there, because it has a default; clients that read the schema should know.
    "spec.schema": {"required": ["apiVersion", "kind", "scope"]},
    "spec.resources[]": {
        "x-kubernetes-validations": [
            {
                "rule": "has(self.template) != has(self.externalRef)",
                "message": "exactly one of template or externalRef must be provided",
            }
        ]
    },
}


def own_crds() -> tuple[KubeObject, KubeObject]:
    """Return the CRDs that must be served before anything else works."""
    return definition_crd(), revision_crd()


def definition_crd() -> KubeObject:
    """Return the CRD of ResourceGraphDefinition."""
    schema = with_descriptions(DEFINITION_SCHEMA, _DEFINITION_TEXTS, _SPEC_RULES)
    served = crd_version(DEFINITION_KIND, schema, DEFINITION_COLUMNS)
    return crd_object(DEFINITION_KIND, CrdNames(DEFINITION_PLURAL, "rgd"), served)


def revision_crd() -> KubeObject:
    """Return the CRD of GraphRevision; revisions can be selected by their definition's name."""
    rules = {_REVISION_SPEC + path: rule for path, rule in _SPEC_RULES.items()}
    schema = with_descriptions(REVISION_SCHEMA, _REVISION_TEXTS, rules)
    served = crd_version(REVISION_KIND, schema, REVISION_COLUMNS)
    served["selectableFields"] = [{"jsonPath": ".spec.snapshot.name"}]
    return crd_object(REVISION_KIND, CrdNames(REVISION_PLURAL, "gr"), served)
