"""
Objects that we deploy, shown by an Argo CD application.

In the mode `bridge` a source puts a tracking id onto every object it applies that names this very
object: so the application lists it, with its health, though Argo CD never applied it. Children of
instances get copies of that id, as always.

The price: to Argo CD, such an object belongs to the application. What is not among the manifests
of the application is `extraneous`, and an application that prunes by itself deletes it, again and
again. So the application is looked at first:

| the application | |
|---|---|
| does not exist | rejected: a name that appears later would claim our objects |
| no automated prune, no self-heal | fine: Argo CD only watches |
| one of them, and other repository, path or revision than ours | rejected: two writers |
| prune, and a tool (Helm, Kustomize, …), or only the top folder | rejected: not the same objects |
| otherwise | fine: both write the same |

Deleting an application deletes all objects that have its name, except those with the option
`Delete=false`; so our objects have that option. They do not have `Prune=false`: a user who prunes
the application means it, and on an object in git we read that option as a request not to prune.
"""

from collections.abc import Iterator, Mapping, Sequence
from posixpath import normpath
from typing import Any
from urllib.parse import urlsplit

from kro_gitops.metadata import ARGOCD_COMPARE_OPTIONS, ARGOCD_SYNC_OPTIONS
from kro_gitops.tracking.identity import TrackingId, application_instance
from kro_gitops.tracking.methods import ArgoCD, TrackingMetadata, tracking_metadata
from kube_objects.refs import KubeObject, ObjectRef, as_mapping, as_text

_CRD = ("apiextensions.k8s.io", "CustomResourceDefinition")
_PROTECTION_OPTIONS = {
    ARGOCD_SYNC_OPTIONS: "Delete=false",
    ARGOCD_COMPARE_OPTIONS: "IgnoreExtraneous",
}
_TOOLS = ("helm", "kustomize", "plugin", "chart")
_HEAD = "HEAD"
_DEFAULT_PORTS = {"https": 443, "http": 80, "ssh": 22}


def argocd_metadata(
    application: KubeObject,
    ref: ObjectRef,
    annotations: Mapping[str, str],
    *,
    argocd: ArgoCD,
    argocd_namespace: str,
) -> TrackingMetadata:
    """Return what an object must carry to be shown; `annotations` are those it has in git."""
    # Argo CD itself marks no CRDs: they outlive every application.
    if (ref.kind.group, ref.kind.kind) == _CRD:
        return TrackingMetadata()
    metadata, spec = as_mapping(application.get("metadata")), as_mapping(application.get("spec"))
    name = application_instance(
        as_text(metadata.get("name")), as_text(metadata.get("namespace")), argocd_namespace
    )
    destination = as_text(as_mapping(spec.get("destination")).get("namespace"))
    marks = tracking_metadata(TrackingId.of(name, ref, destination), argocd)
    shield: dict[str, str] = {}
    for key, ours in _PROTECTION_OPTIONS.items():
        # Add an option to a list, unless it decides that already.
        theirs = [
            option.strip() for option in annotations.get(key, "").split(",") if option.strip()
        ]
        decided = {option.partition("=")[0] for option in theirs}
        shield[key] = ",".join(theirs if ours.partition("=")[0] in decided else [*theirs, ours])
    return TrackingMetadata(marks.labels, {**marks.annotations, **shield})


def application_conflict(
    application: KubeObject | None, *, url: str, revision: str, paths: Sequence[str]
) -> str:
    """
    Return why an application must not show our objects; empty if it may.

    `revision` is as written in the spec: a branch, a tag, a commit, empty for the remote's HEAD.
    """
    if application is None:
        return "the application does not exist; create it first, or remove tracking.application"
    name = ObjectRef.of(application).place
    spec = as_mapping(application.get("spec"))
    automated = as_mapping(as_mapping(spec.get("syncPolicy")).get("automated"))
    if automated.get("enabled") is False:
        automation: list[str] = []
    else:
        automation = [name for name in ("prune", "selfHeal") if automated.get(name) is True]
    if not automation:
        return ""
    what = f"application {name} has automated {' and '.join(automation)}"
    sources: list[Mapping[str, Any]] = []
    several = spec.get("sources")
    if isinstance(several, list) and several:
        sources.extend(as_mapping(each) for each in several)
    else:
        sources.append(as_mapping(spec.get("source")))
    for difference in _differences(sources, url, revision, paths):
        return (
            f"{what}, and {difference}: it would revert the changes of this source; "
            "disable the automation, or let both read the same"
        )
    if "prune" in automation and (why := _other_objects(sources)):
        return f"{what}, and {why}, so it would delete objects that only this source reads"
    return ""


def _differences(
    sources: list[Mapping[str, Any]], url: str, revision: str, paths: Sequence[str]
) -> Iterator[str]:
    for source in sources:
        theirs = as_text(source.get("repoURL"))
        if _place(theirs) != _place(url):
            # Credentials in the URL are not shown.
            host, port, path = _place(theirs)
            shown = f"{host}:{port}/{path}" if port else f"{host}/{path}"
            yield f"its repository {shown} is not that of the source"
        target = as_text(source.get("targetRevision"))
        if _revision(target) != _revision(revision):
            yield f"its revision {target or _HEAD} is not that of the source ({revision or _HEAD})"
    found = {_folder(as_text(source.get("path"))) for source in sources}
    ours = {_folder(path) for path in paths} or {"."}
    if found != ours:
        yield f"its path {_listed(found)} is not that of the source ({_listed(ours)})"


def _other_objects(sources: list[Mapping[str, Any]]) -> str:
    for source in sources:
        tools = [name for name in _TOOLS if source.get(name)]
        if tools:
            return f"it generates its manifests with {tools[0]}"
        directory = as_mapping(source.get("directory"))
        if directory.get("recurse") is not True:
            return "it reads the top-level directory only (set spec.source.directory.recurse: true)"
        if directory.get("include") or directory.get("exclude"):
            return "it excludes files (spec.source.directory.include or exclude)"
    return ""


def _place(url: str) -> tuple[str, int | None, str]:
    """Return host, unusual port and path: however a repository is reached, it is the same."""
    if "://" not in url and ":" in url:  # git@host:path
        host, _, path = url.partition(":")
        return host.rpartition("@")[2].lower(), None, _repository(path)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "", None, url
    if port == _DEFAULT_PORTS.get(parts.scheme.lower()):
        port = None
    return (parts.hostname or "").lower(), port, _repository(parts.path)


def _repository(path: str) -> str:
    return path.strip("/").removesuffix(".git")


def _revision(text: str) -> str:
    return text.removeprefix("refs/heads/").removeprefix("refs/tags/") or _HEAD


def _folder(path: str) -> str:
    return normpath(path.strip("/") or ".")


def _listed(paths: set[str]) -> str:
    return ", ".join(sorted(paths))
