"""
Plans every instance of a repository, and reports what the controller would reject.

Codes and texts are the planner's. A rejection is shown where the definition causes it; the hint
names the instance.
"""

from collections.abc import Iterator

from kro_gitops.engine.plan.children import Rules
from kro_gitops.engine.plan.evaluation import Bounds
from kro_gitops.preview.render import DEFAULT_NAMESPACE, Failure, Renderer, Rendering
from kro_gitops.preview.repository import Repository
from kro_gitops.preview.sample_data import LiveData
from kro_gitops.source.files.manifests import Manifest
from kube_objects.problems import Finding, Problem, Spot
from kube_objects.refs import KubeObject, ObjectRef


def renderer_of(
    repository: Repository,
    given: LiveData | None = None,
    rules: Rules | None = None,
    namespace: str = DEFAULT_NAMESPACE,
    depth: int | None = None,
    *,
    failures_only: bool = False,
) -> Renderer:
    """Return what renders the instances of a repository, with all its manifests to refer to."""
    objects: dict[ObjectRef, KubeObject] = {}
    for manifest in repository.manifests:
        ref, served = manifest.ref, repository.schemas.schema_of(manifest.ref.kind)
        if served is not None and served.namespaced and not ref.namespace:
            ref = ObjectRef(ref.kind, namespace, ref.name)
        objects[ref] = manifest.object
    return Renderer(
        repository.served,
        objects,
        given,
        rules,
        namespace,
        depth,
        failures_only=failures_only,
        cluster=repository.cluster,
    )


def rejections(repository: Repository, bounds: Bounds, rules: Rules | None = None) -> list[Finding]:
    """
    Return what the controller would reject in the instances of a repository.

    Only what is certain without a cluster: an instance that waits for data is not rejected. One
    that the API server would not accept is not planned.
    """
    renderer = renderer_of(repository, rules=rules, failures_only=True)
    found: list[Finding] = []
    for manifest, graph in repository.sound_instances():
        rendering = renderer.render(graph, manifest.object, bounds)
        found += findings_of(repository, manifest, rendering, with_pending=False)
    return found


def findings_of(
    repository: Repository, manifest: Manifest, rendering: Rendering, *, with_pending: bool = True
) -> Iterator[Finding]:
    """Yield the failures of a rendering, and of those nested in it, with their places."""
    for part in rendering.all():
        for failure in part.failures:
            if with_pending or not failure.is_pending:
                yield _finding(repository, manifest, part, failure)


def _finding(
    repository: Repository, manifest: Manifest, rendering: Rendering, failure: Failure
) -> Finding:
    text = f"{rendering.instance}: {failure.text}"
    place = manifest.origin()
    hint = f"the instance is at {place}" + (f"; {failure.hint}" if failure.hint else "")
    definition = next(
        (
            each.manifest
            for each in repository.definitions
            if each.graph is not None and each.graph.definition.name == rendering.definition
        ),
        None,
    )
    if definition is None or not failure.place:
        problem = Problem(failure.code, text, hint=failure.hint)
        return manifest.document.finding(problem.below(manifest.prefix), str(rendering.instance))
    problem = Problem(failure.code, text, Spot(failure.place), hint=hint)
    return definition.document.finding(problem.below(definition.prefix), str(rendering.instance))
