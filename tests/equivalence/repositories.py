"""
Repositories that nobody thought of: definitions with collections, conditions, three levels of
nesting, external references, children in other namespaces and without one, values without a type,
names and values that the API server does not accept, objects that the files contain as well; valid
ones, and ones that are rejected.

Every repository has a group and namespaces of its own, so that many can share one cluster.
"""

from dataclasses import dataclass, field
from itertools import count
from typing import Any

from hypothesis import strategies as st

from kube_objects.refs import KubeObject

_NUMBERS = count()
_WORDS = ("w", "x", "y", "z", "long-word", "0")
_ODD_WORDS = ("", "Upper", "a b", "-", "x" * 70, "a.b")
_ANYTHING: tuple[KubeObject, ...] = (
    {},
    {"key": "text"},
    {"key": 5},
    {"key": None},
    {"key": ["a"]},
    {"other key": "x"},
)
_SIZES = ("1Gi", "1024Mi", "0.5", "100m", "many")
_SPEC = {
    "word": 'string | default="w"',
    "words": "[]string",
    "place": 'string | default=""',
    "size": "integer | default=1",
    "labels": "map[string]string",
    "any": "object | default={}",
    "storage": 'string | default="1Gi"',
}
# Of an instance at the third level, which is not always allowed.
_CORE_SPEC = {
    "word": 'string | pattern="^[a-z0-9]*$"',
    "size": "integer | maximum=1",
    "any": "object",
}


@dataclass(slots=True)
class Generated:
    """A repository, and what is in the cluster besides."""

    objects: list[KubeObject] = field(default_factory=list)
    besides: list[KubeObject] = field(default_factory=list)


@st.composite
def repositories(draw: st.DrawFn) -> Generated:
    """Draw a repository."""
    prefix = f"eq{next(_NUMBERS)}"
    group = f"{prefix}.example.com"
    found = Generated()
    for name in ("a", "b"):
        found.objects.append(_object("v1", "Namespace", f"{prefix}-{name}"))
    shared = _object("v1", "ConfigMap", "shared", f"{prefix}-a", data={"key": "value"})
    shared["metadata"]["labels"] = {"zone": "true"}
    secret = _object("v1", "Secret", "secret", f"{prefix}-a", stringData={"key": "value"})
    (found.objects if draw(st.booleans()) else found.besides).append(shared)
    (found.objects if draw(st.booleans()) else found.besides).append(secret)
    is_cluster = draw(st.booleans())
    inner = draw(_nodes(prefix, is_cluster=False))
    outer = draw(_nodes(prefix, is_cluster=is_cluster))
    if draw(st.booleans()):
        outer.append(draw(_nested(prefix, group, outer)))
    if draw(st.booleans()):
        inner.append(draw(_core(group)))
    switch = draw(st.sampled_from(("boolean | default=true", "boolean | default=false", "boolean")))
    spec = {**_SPEC, "on": switch}
    named = {"name": "${schema.metadata.name}-core"}
    core = {"id": "n0", "template": _template("plain", named, {"own": "${schema.spec.word}"})}
    found.objects += [
        _definition(prefix, group, "Core", [core], "Namespaced", _CORE_SPEC),
        _definition(prefix, group, "Inner", inner, "Namespaced", spec),
        _definition(prefix, group, "Outer", outer, "Cluster" if is_cluster else "Namespaced", spec),
    ]
    if draw(st.integers(0, 5)) == 0:
        own = _object("v1", "ConfigMap", f"{prefix}-0-n0", f"{prefix}-a", data={"own": "file"})
        found.objects.append(own)
    for number in range(draw(st.integers(1, 2))):
        kind = draw(st.sampled_from(("Inner", "Outer", "Outer")))
        namespace = "" if is_cluster and kind == "Outer" else f"{prefix}-a"
        name = f"{prefix}-{number}"
        instance = _object(f"{group}/v1", kind, name, namespace, spec=draw(_specs(prefix)))
        if draw(st.booleans()):
            place = f"{namespace or 'default'}/{name}"
            tracking = f"app:{group}/{kind}:{place}"
            instance["metadata"]["annotations"] = {"argocd.argoproj.io/tracking-id": tracking}
            instance["metadata"]["labels"] = {"team": "a", "argocd.argoproj.io/x": "b"}
        if draw(st.integers(0, 3)) == 0:
            adopting = {"gitops.kro.run/adopt": "true"}
            instance["metadata"].setdefault("annotations", {}).update(adopting)
        found.objects.append(instance)
    return found


@st.composite
def _specs(draw: st.DrawFn, prefix: str) -> KubeObject:
    spec: KubeObject = {"words": draw(st.lists(st.sampled_from(_WORDS), max_size=4))}
    if draw(st.integers(0, 4)):
        spec["words"] = list(dict.fromkeys(spec["words"]))
    if draw(st.integers(0, 9)):
        spec["on"] = draw(st.booleans())
    if draw(st.booleans()):
        spec["word"] = draw(st.sampled_from(_WORDS))
    if draw(st.booleans()):
        spec["place"] = draw(st.sampled_from((f"{prefix}-a", f"{prefix}-b", "")))
    if not draw(st.integers(0, 5)):
        spec["size"] = draw(st.sampled_from((0, 2)))
    if not draw(st.integers(0, 3)):
        spec["words"] += [draw(st.sampled_from(_ODD_WORDS))]
    if not draw(st.integers(0, 7)):
        spec["word"] = draw(st.sampled_from(_ODD_WORDS))
    if draw(st.booleans()):
        spec["any"] = draw(st.sampled_from(_ANYTHING))
    if draw(st.booleans()):
        spec["storage"] = draw(st.sampled_from(_SIZES[:-1]))
    keys = st.sampled_from(("tier", "example.com/x", "gitops.kro.run/x", "not valid"))
    if draw(st.booleans()):
        spec["labels"] = draw(st.dictionaries(keys, st.sampled_from(("p", "q")), max_size=2))
    return spec


@st.composite
def _nodes(draw: st.DrawFn, prefix: str, *, is_cluster: bool) -> list[KubeObject]:
    found: list[KubeObject] = []
    readable: list[str] = []  # expressions that earlier nodes offer
    lists = ["schema.spec.words"]
    for number in range(draw(st.integers(1, 4))):
        name = f"n{number}"
        sort = draw(
            st.sampled_from(
                (
                    *("plain", "plain", "secret", "collection", "collection"),
                    *("external", "zones", "role", "workload", "claim", "free"),
                )
            )
        )
        reads = draw(st.lists(st.sampled_from(readable), max_size=2)) if readable else []
        words = draw(st.sampled_from(lists))
        node = draw(_node(prefix, name, sort, reads, words, is_cluster=is_cluster))
        offered = {
            "plain": f"{name}.data.own",
            "secret": f"{name}.metadata.name",
            "collection": f"string(size({name}))",
            "external": f"string({name}.data.key)",
            "zones": f"string(size({name}))",
            "role": f"{name}.metadata.name",
            "workload": f"string({name}.status.availableReplicas)",
            "claim": f"string({name}.spec.resources.requests['storage'])",
            "free": f"(has({name}.data) ? 'some' : 'none')",
        }
        readable.append(offered[sort])
        if sort == "zones":
            lists += [f"{name}.map(zone, zone.metadata.name)"] * 2
        found.append(node)
    return found


@st.composite
def _node(
    draw: st.DrawFn,
    prefix: str,
    name: str,
    sort: str,
    reads: list[str],
    words: str,
    *,
    is_cluster: bool,
) -> KubeObject:
    if sort in ("external", "zones"):
        return {"id": name, "externalRef": draw(_reference(prefix, sort))}
    own = draw(st.sampled_from(("same", name, name, name)))
    named: dict[str, Any] = {"name": f"${{schema.metadata.name}}-{own}"}
    if draw(st.integers(0, 19)) == 0:
        named["name"] = f"${{schema.spec.on ? schema.metadata.name + '-{own}' : ''}}"
    places = [f"{prefix}-b", "${schema.spec.place}"]
    place = draw(st.sampled_from(places if is_cluster else ["", "", *places]))
    if place and sort != "role":
        named["namespace"] = place
    if draw(st.integers(0, 3)) == 0:
        named["labels"] = "${schema.spec.?labels.orValue({})}"
    elif draw(st.integers(0, 9)) == 0:
        named["annotations"] = "${schema.spec.any}"
    data = {"own": "${schema.spec.word}"} | {
        f"read{index}": f"${{{read}}}" for index, read in enumerate(reads)
    }
    if draw(st.integers(0, 4)) == 0:
        data["quotient"] = "${string(10 / schema.spec.size)}"
    if draw(st.integers(0, 4)) == 0:
        data["identity"] = "${schema.metadata.uid}"
    if draw(st.integers(0, 4)) == 0:
        data["optional"] = "${schema.spec.word == 'w' ? 'w' : omit()}"
    if draw(st.integers(0, 9)) == 0:
        data["untyped"] = "${schema.spec.any.?key.orValue('none')}"
    node: KubeObject = {"id": name, "template": _template(sort, named, data)}
    if sort == "plain" and draw(st.integers(0, 4)) == 0:
        conditions = [f"${{{name}.data.own == 'w'}}", f"${{{name}.data.own == string(1 / 0)}}"]
        node["readyWhen"] = [draw(st.sampled_from(conditions))]
    if sort == "collection":
        named["name"] += "-${word}"
        node["forEach"] = [{"word": f"${{{words}}}"}]
        if draw(st.booleans()):
            node["forEach"].append({"more": "${['p', 'q']}"})
            # Every dimension must be used, but that does not make names differ.
            named["name"] += "-${more}" if draw(st.integers(0, 4)) else "-${string(size(more))}"
    conditions = ["${schema.spec.on}", "${schema.spec.size > 0}"]
    conditions += [f"${{{read} != 'x'}}" for read in reads]
    if draw(st.integers(0, 2)) == 0:
        node["includeWhen"] = [draw(st.sampled_from(conditions))]
    return node


@st.composite
def _reference(draw: st.DrawFn, prefix: str, sort: str) -> KubeObject:
    if sort == "zones":
        metadata = {"namespace": f"{prefix}-a", "selector": {"matchLabels": {"zone": "true"}}}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    kind, name = draw(st.sampled_from((("ConfigMap", "shared"), ("Secret", "secret"))))
    return _object("v1", kind, name, f"{prefix}-a")


def _template(sort: str, metadata: KubeObject, data: KubeObject) -> KubeObject:
    match sort:
        case "secret":
            return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}
        case "role":
            version = "rbac.authorization.k8s.io/v1"
            return {"apiVersion": version, "kind": "ClusterRole", "metadata": metadata, "rules": []}
        case "workload":
            labels = {"app": "${schema.metadata.name}"}
            containers = [{"name": "main", "image": "nginx"}]
            pod = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
            spec = {"selector": {"matchLabels": labels}, "template": pod}
            head = {"apiVersion": "apps/v1", "kind": "Deployment"}
            return {**head, "metadata": metadata, "spec": spec}
        case "claim":
            requests = {"storage": "${schema.spec.storage}"}
            spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": requests}}
            head = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
            return {**head, "metadata": metadata, "spec": spec}
        case "free":
            free = "${schema.spec.?labels.orValue({})}"
            return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": free}
        case _:
            return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@st.composite
def _nested(draw: st.DrawFn, prefix: str, group: str, siblings: list[KubeObject]) -> KubeObject:
    spec: KubeObject = {"word": "${schema.spec.word}", "words": "${schema.spec.words}"}
    if draw(st.integers(0, 9)):
        spec["on"] = draw(st.booleans())
    workload = next(
        (each for each in siblings if each.get("template", {}).get("kind") == "Deployment"), None
    )
    if workload is not None and draw(st.booleans()):
        spec["word"] = f"${{string({workload['id']}.status.availableReplicas)}}"
    node: KubeObject = {
        "id": "nested",
        "template": {
            "apiVersion": f"{group}/v1",
            "kind": "Inner",
            "metadata": {"name": "${schema.metadata.name}-in", "namespace": f"{prefix}-a"},
            "spec": spec,
        },
    }
    if draw(st.integers(0, 2)) == 0:
        node["forEach"] = [{"word": "${schema.spec.words}"}]
        node["template"]["metadata"]["name"] += "-${word}"
        spec["word"] = "${word}"
    return node


@st.composite
def _core(draw: st.DrawFn, group: str) -> KubeObject:
    spec: KubeObject = {"word": "${schema.spec.word}", "size": "${schema.spec.size}"}
    if draw(st.booleans()):
        spec["any"] = "${schema.spec.any}"
    if draw(st.integers(0, 4)) == 0:
        spec["size"] = "${schema.spec.any.?key.orValue(1)}"
    metadata = {"name": "${schema.metadata.name}-c"}
    head = {"apiVersion": f"{group}/v1", "kind": "Core"}
    return {"id": "core", "template": {**head, "metadata": metadata, "spec": spec}}


def _definition(
    prefix: str, group: str, kind: str, nodes: list[KubeObject], scope: str, spec: KubeObject
) -> KubeObject:
    schema = {"apiVersion": "v1", "group": group, "kind": kind, "scope": scope, "spec": spec}
    definition = _object("kro.run/v1alpha1", "ResourceGraphDefinition", f"{prefix}-{kind.lower()}")
    return definition | {"spec": {"schema": schema, "resources": nodes}}


def _object(api_version: str, kind: str, name: str, namespace: str = "", **more: Any) -> KubeObject:
    metadata: dict[str, Any] = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}
