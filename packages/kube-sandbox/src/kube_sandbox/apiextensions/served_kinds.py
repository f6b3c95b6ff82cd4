"""
A CustomResourceDefinition → the kinds it serves.

One for each version that is served, all with the schemas of all versions: objects are stored in one
of them and may be read in another. A definition serves nothing before it is established.

Follows kubernetes 1.35
k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_discovery_controller.go
DiscoveryController.sync; k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go
crdHandler.getOrCreateServingInfoFor.
"""

import re
from collections.abc import Mapping

from kube_objects.crds import kinds_of_crd
from kube_objects.refs import Kind, KubeObject
from kube_objects.schemas import KindSchema
from kube_sandbox.apiextensions.customresource.strategy import CustomStrategy, Version
from kube_sandbox.apiextensions.customresourcedefinition.validation import is_established
from kube_sandbox.registry.kinds import Column, ScalePaths, Served, Subresource

_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_LAST_VERBS = ("delete", "deletecollection", "get", "list", "watch")
_SUBRESOURCE_VERBS = ("get", "patch", "update")
_SCALE = Kind("autoscaling", "v1", "Scale")
_AGE = Column(
    "Age",
    "date",
    ".metadata.creationTimestamp",
    description=(
        "CreationTimestamp is a timestamp representing the server time when this object was "
        "created. It is not guaranteed to be set in happens-before order across separate "
        "operations. Clients may not set this value. It is represented in RFC3339 form and is in "
        "UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: "
        "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
        "#metadata"
    ),
)


def served_of(crd: KubeObject) -> list[Served]:
    """Return a kind for every version that is served."""
    if not is_established(crd):
        return []
    versions: Mapping[str, KubeObject] = {each["name"]: each for each in crd["spec"]["versions"]}
    compiled = {
        name: Version((each.get("schema") or {}).get("openAPIV3Schema") or {})
        for name, each in versions.items()
    }
    storage = next(name for name, each in versions.items() if each["storage"])
    return [
        _served(crd, known, versions[known.kind.version], compiled, storage)
        for known in kinds_of_crd(crd)
    ]


def is_terminating(crd: KubeObject) -> bool:
    """Return whether objects of the kinds can only be read and deleted any more."""
    return any(
        each["type"] == "Terminating" and each["status"] == "True"
        for each in crd["status"]["conditions"] or ()
    )


def _served(
    crd: KubeObject,
    known: KindSchema,
    version: KubeObject,
    compiled: Mapping[str, Version],
    storage: str,
) -> Served:
    names = crd["status"]["acceptedNames"]
    subresources = version.get("subresources") or {}
    paths = subresources.get("scale")
    if paths is None:
        scale: ScalePaths | None = None
    else:
        scale = ScalePaths(
            paths["specReplicasPath"],
            paths["statusReplicasPath"],
            paths.get("labelSelectorPath", ""),
        )
    strategy = CustomStrategy(
        kind=known.kind,
        namespaced=known.namespaced,
        versions=compiled,
        storage_version=storage,
        has_status="status" in subresources,
        scale=scale,
    )
    return Served(
        kind=known.kind,
        plural=known.plural,
        namespaced=known.namespaced,
        find_schema=lambda: known.schema,
        strategy=strategy,
        singular=names.get("singular", ""),
        short_names=tuple(names.get("shortNames", ())),
        categories=tuple(names.get("categories", ())),
        verbs=_LAST_VERBS if is_terminating(crd) else _VERBS,
        subresources={
            name: Subresource(name, kind, _SUBRESOURCE_VERBS)
            for name, kind in (("status", known.kind), ("scale", _SCALE))
            if name in subresources
        },
        columns=_columns(version),
        storage_version=storage,
        is_custom=True,
        scale=scale,
        list_kind=names.get("listKind", ""),
        selectable=tuple(each["jsonPath"] for each in version.get("selectableFields") or ()),
        deprecation=_deprecation(crd, version),
    )


def _columns(version: KubeObject) -> tuple[Column, ...]:
    given = version.get("additionalPrinterColumns")
    if not given:
        return (_AGE,)
    return tuple(
        Column(
            name=each["name"],
            type=each["type"],
            path=each["jsonPath"],
            format=each.get("format", ""),
            description=each.get("description", ""),
            priority=each.get("priority", 0),
        )
        for each in given
    )


def _deprecation(crd: KubeObject, version: KubeObject) -> str:
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning"):
        return str(version["deprecationWarning"])
    group, kind = crd["spec"]["group"], crd["spec"]["names"]["kind"]
    message = f"{group}/{version['name']} {kind} is deprecated"
    newer = [
        each["name"]
        for each in crd["spec"]["versions"]
        if each["served"]
        and not each.get("deprecated")
        and _rank(each["name"]) > _rank(version["name"])
    ]
    return f"{message}; use {group}/{max(newer, key=_rank)} {kind}" if newer else message


_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STABILITY = {"alpha": 0, "beta": 1, None: 2}


def _rank(name: str) -> tuple[int, int, int, tuple[int, ...]]:
    """Order versions: stable before beta before alpha before all others, the higher first."""
    match = _VERSION.fullmatch(name)
    if match is None:
        # Names that are no versions are ordered by the alphabet, the first is the best.
        return (-1, 0, 0, tuple(-ord(letter) for letter in name))
    return (_STABILITY[match[2]], int(match[1]), int(match[3] or 0), ())
