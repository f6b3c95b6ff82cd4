"""
The CRDs that this program brings along: ResourceGraphDefinition and GraphRevision.

They do what kro's do: the same objects are accepted, refused, defaulted and pruned, with the same
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
from kro_gitops.engine.crd.template import Names, crd, finished, version
from kro_gitops.engine.revision import REVISION_KIND, REVISION_PLURAL
from kube_objects.refs import KubeObject

_REVISION_SPEC = "spec.snapshot."  # where a revision keeps the definition's `spec`

_TYPE_TEXTS = {
    "apiVersion": "The group and version of this object.",
    "kind": "The kind of this object.",
}

_SPEC_TEXTS = {
    "spec": "What the kind looks like, and the objects that stand behind each of its instances.",
    "spec.schema": "The kind that is served: its names, its fields, its status.",
    "spec.schema.kind": "The kind of the instances, in PascalCase. It cannot be changed.",
    "spec.schema.apiVersion": "The version under which the kind is served, v1alpha1 say. "
    "It cannot be changed.",
    "spec.schema.group": "The API group of the kind. It cannot be changed.",
    "spec.schema.scope": "Whether instances live in namespaces. It cannot be changed.",
    "spec.schema.spec": "The fields of an instance's spec, in SimpleSchema: "
    "`replicas: integer | default=1 minimum=1`.",
    "spec.schema.types": "Types with a name, for use in the spec.",
    "spec.schema.status": "The fields of an instance's status: expressions over its children, "
    "`endpoint: ${service.spec.clusterIP}`.",
    "spec.schema.additionalPrinterColumns": "What `kubectl get` shows of an instance, in place of "
    "state, readiness and age.",
    "spec.schema.additionalPrinterColumns[]": "A column.",
    "spec.schema.additionalPrinterColumns[].name": "The heading of the column.",
    "spec.schema.additionalPrinterColumns[].type": "The OpenAPI type of the value.",
    "spec.schema.additionalPrinterColumns[].jsonPath": "Where the value is found in an instance.",
    "spec.schema.additionalPrinterColumns[].description": "What the column is about.",
    "spec.schema.additionalPrinterColumns[].format": "The OpenAPI format of the value.",
    "spec.schema.additionalPrinterColumns[].priority": "0 shows the column always, a higher number "
    "only with `-o wide`.",
    "spec.schema.shortNames": "Short names for kubectl.",
    "spec.schema.categories": "Categories for kubectl: `kubectl get CATEGORY` shows all kinds "
    "in it.",
    "spec.schema.metadata": "What the generated CRD carries.",
    "spec.schema.metadata.labels": "Labels of the generated CRD.",
    "spec.schema.metadata.annotations": "Annotations of the generated CRD.",
    "spec.resources": "The objects behind an instance. Expressions may refer to other objects; "
    "what is referred to comes first.",
    "spec.resources[]": "An object to create, several with forEach, or an object to read.",
    "spec.resources[].id": "The name by which expressions refer to the object.",
    "spec.resources[].template": "The object to create, with expressions in ${…}.",
    "spec.resources[].externalRef": "An object that somebody else creates, to be read only.",
    "spec.resources[].externalRef.apiVersion": "The group and version of the object: apps/v1.",
    "spec.resources[].externalRef.kind": "The kind of the object.",
    "spec.resources[].externalRef.metadata": "Which object: by name, or all that match a selector.",
    "spec.resources[].externalRef.metadata.name": "The name of the object; not with a selector.",
    "spec.resources[].externalRef.metadata.namespace": "The namespace of the object. Without it "
    "a name is looked up in the instance's namespace, and a selector in all.",
    "spec.resources[].externalRef.metadata.selector": "A label selector, or one expression that "
    "yields it; not with a name.",
    "spec.resources[].readyWhen": "Conditions, all of which must hold before the object counts as "
    "ready. Without any, it is ready when it exists.",
    "spec.resources[].includeWhen": "Conditions, all of which must hold for the object to exist. "
    "They are looked at again whenever something changes.",
    "spec.resources[].forEach": "Lists to repeat the object over. With several, there is one "
    "object for every combination.",
    "spec.resources[].forEach[]": "One variable, and the expression whose items it takes.",
}

_PROGRESS_TEXTS = {
    "status": "What has become of it.",
    "status.topologicalOrder": "The ids of the resources, in the order of creation.",
    "status.resources": "Which resource needs which.",
    "status.resources[].id": "The id of the resource.",
    "status.resources[].dependencies": "The resources it refers to.",
    "status.resources[].dependencies[].id": "The id of the resource that is needed.",
    "status.conditions": "How far things are, condition by condition; Ready adds them up.",
    "status.conditions[].type": "What the condition is about.",
    "status.conditions[].status": "True, False or Unknown.",
    "status.conditions[].reason": "Why, in one word for programs.",
    "status.conditions[].message": "Why, for people.",
    "status.conditions[].lastTransitionTime": "Since when the status is what it is.",
    "status.conditions[].observedGeneration": "The generation of the object that was looked at.",
}

_DEFINITION_TEXTS = {
    "": "A kind of your own, and the objects that stand behind each of its instances.",
    **_TYPE_TEXTS,
    **_SPEC_TEXTS,
    **_PROGRESS_TEXTS,
    "status.state": "Active if the kind is served and its instances are looked after, "
    "Inactive if not.",
    "status.lastIssuedRevision": "The highest number that a GraphRevision of this definition "
    "ever had.",
}

_REVISION_TEXTS = {
    "": "A definition's spec as it once was. It cannot be changed.",
    **_TYPE_TEXTS,
    **{_REVISION_SPEC + path: text for path, text in _SPEC_TEXTS.items()},
    **_PROGRESS_TEXTS,
    "spec": "Which definition, and what it said.",
    "spec.revision": "The number of the revision; those of a definition only ever go up.",
    "spec.snapshot": "The definition when the revision was made.",
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
    schema = finished(DEFINITION_SCHEMA, _DEFINITION_TEXTS, _SPEC_RULES)
    served = version(DEFINITION_KIND, schema, DEFINITION_COLUMNS)
    return crd(DEFINITION_KIND, Names(DEFINITION_PLURAL, "rgd"), served)


def revision_crd() -> KubeObject:
    """Return the CRD of GraphRevision; revisions can be selected by their definition's name."""
    rules = {_REVISION_SPEC + path: rule for path, rule in _SPEC_RULES.items()}
    schema = finished(REVISION_SCHEMA, _REVISION_TEXTS, rules)
    served = version(REVISION_KIND, schema, REVISION_COLUMNS)
    served["selectableFields"] = [{"jsonPath": ".spec.snapshot.name"}]
    return crd(REVISION_KIND, Names(REVISION_PLURAL, "gr"), served)
