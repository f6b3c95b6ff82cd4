"""
What is wrong with objects that a cluster rejected, as `validate` describes it.

The controller knows that something was rejected, and `validate` knows where it is written, why, and
what was meant. Only the objects in question are checked, and definitions, which the others need.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from kro_gitops.engine.options import Options
from kro_gitops.engine.plan.children import Rules
from kro_gitops.engine.plan.evaluation import Bounds
from kro_gitops.preview.cluster import AssumedCluster, ErrorOf
from kro_gitops.preview.rejections import rejections
from kro_gitops.preview.repository import compile_repository
from kro_gitops.source.files.manifests import Manifest, Manifests
from kube_objects.builtins.catalog import catalog
from kube_objects.problems import Finding, Severity
from kube_objects.refs import ObjectRef
from kube_objects.schemas import Schemas


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Describes what is wrong with manifests, with the options of the controller."""

    options: Options
    rules: Rules
    error_of: ErrorOf | None = None

    def __call__(
        self,
        manifests: Sequence[Manifest],
        suspects: Collection[ObjectRef],
        schemas: Schemas,
        namespace: str,
    ) -> list[Finding]:
        """
        Return the errors of the suspects, whose refs are as they are written in the files.

        `schemas` are those of other kinds that the cluster serves.
        """
        cluster = AssumedCluster(self.error_of, schemas, namespace=namespace)
        repository = compile_repository(
            Manifests(tuple(manifests), ()), catalog, self.options, cluster, only=suspects
        )
        bounds = Bounds(self.options.max_collection_size)
        found = [*repository.findings, *rejections(repository, bounds, self.rules)]
        return [each for each in found if each.problem.severity is Severity.ERROR]
