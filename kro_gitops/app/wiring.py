"""
Converts settings into the options of each package, and the engine into what sources see of it.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from kro_gitops.control.backoff import Backoff
from kro_gitops.control.leadership import controller_namespace
from kro_gitops.control.loop import LoopSettings as LoopSettings
from kro_gitops.control.outcome import RetryDelays
from kro_gitops.engine.child_counts import ChildCounts
from kro_gitops.engine.child_rules import child_rules
from kro_gitops.engine.controllers.definitions import DefinitionSettings
from kro_gitops.engine.controllers.engine import (
    DEFINITIONS,
    INSTANCES,
    REVISIONS,
    Engine,
    EngineSettings,
)
from kro_gitops.engine.controllers.evaluation_turns import EvaluationLimits
from kro_gitops.engine.controllers.instances import InstanceSettings
from kro_gitops.engine.options import Options
from kro_gitops.engine.plan.drift import DriftRules
from kro_gitops.engine.plan.prune_limit import PruneLimit
from kro_gitops.kube.ratelimit import ClientLimits
from kro_gitops.local.repositories import repository_url
from kro_gitops.settings.settings import Gate, Settings
from kro_gitops.source.api.parse import Defaults, write_spec
from kro_gitops.source.api.resources import GIT_SOURCE_KIND
from kro_gitops.source.api.types import EVERYTHING, SourceSpec, WantedRef
from kro_gitops.source.controllers.ownership import AccountRules
from kro_gitops.source.controllers.wiring import SourceOptions
from kro_gitops.source.files.budget import UNLIMITED, Amount
from kro_gitops.source.git.types import FetchRules
from kro_gitops.tracking.health import HealthStatus
from kro_gitops.tracking.methods import ArgoCD
from kube_objects.refs import Kind, KubeObject, ObjectRef
from kube_objects.schemas import KindSchema

_MAX_SYNC_SECONDS = 3600.0  # seconds


def engine_settings(settings: Settings) -> EngineSettings:
    """Return the rules of the engine."""
    rules = child_rules(settings)
    limit = PruneLimit(settings.max_prune_percent, settings.max_prune_count, "--max-prune-count")
    instance_settings = InstanceSettings(
        version=rules.version,
        tracking=rules.tracking,
        adoption=settings.adoption_policy,
        interval=settings.instance_requeue_interval,
        evaluation=EvaluationLimits(
            expression=settings.evaluation_limit, instance=settings.instance_evaluation_limit
        ),
        collection_size=settings.rgd_max_collection_size,
        manual_managers=frozenset(settings.drift_managers),
        readiness=settings.readiness,
        reports_all_conditions=Gate.CONDITION_EVENTS in settings.feature_gates,
        prune_limit=limit if limit.count else None,
        retains_claims=rules.retains_claims,
    )
    return EngineSettings(
        instances=instance_settings,
        definitions=DefinitionSettings(
            deletes_crds=settings.allow_crd_deletion,
            keeps_revisions=settings.rgd_max_graph_revisions,
            progress_delay=settings.rgd_progress_requeue_delay,
            drift=DriftRules(settings.drift_added_fields),
            author_ready=settings.author_conditions_ready,
        ),
        options=Options(
            omit=Gate.OMIT in settings.feature_gates,
            max_dimensions=settings.rgd_max_collection_dimension_size,
            max_collection_size=settings.rgd_max_collection_size,
        ),
        loops={
            DEFINITIONS: _loop(settings, settings.resource_graph_definition_concurrent_reconciles),
            REVISIONS: _loop(settings, settings.graph_revision_concurrent_reconciles),
            INSTANCES: _loop(settings, settings.dynamic_controller_concurrent_reconciles),
        },
    )


def source_defaults(settings: Settings) -> Defaults:
    """Return the defaults of sources."""
    named = settings.remembered.place if settings.remembered else ""
    if settings.repo:
        named = f"{settings.repo_namespace}/{settings.repo_name}"
    return Defaults(
        settings.default_service_account, settings.no_cross_namespace_refs, local_source=named
    )


def account_rules(settings: Settings) -> AccountRules:
    """Return which accounts act where nothing names one."""
    return AccountRules(
        settings.default_service_account,
        controller_namespace(settings),
        settings.instances_own_namespace_only,
    )


def source_rules(settings: Settings, storage: Path) -> SourceOptions:
    """Return the rules of the sources."""
    # The only folder of this machine that may be read is the one that the user named.
    local = settings.remembered.url if settings.remembered else ""
    if settings.repo:
        local = repository_url(settings.repo)
    return SourceOptions(
        storage=storage,
        defaults=source_defaults(settings),
        argocd=ArgoCD(settings.argocd_tracking_method, settings.argocd_label_key),
        fetch=FetchRules(
            allow_private_networks=settings.allow_private_networks,
            allow_plain_http=settings.allow_plain_http,
            allowed_hosts=settings.allowed_git_hosts,
            local_urls=frozenset((local,) if local.startswith("file://") else ()),
            # The rest is for what is not counted: refs, locks, blocks that are not full.
            storage_bytes=settings.storage_size * 7 // 8,
            namespace_storage_bytes=settings.storage_size * 7 // 16,
        ),
        namespaces=settings.watch_namespaces,
        loop=LoopSettings(
            settings.source_concurrent_reconciles,
            time_limit=_MAX_SYNC_SECONDS,
            grace=settings.graceful_shutdown_timeout,
        ),
        budget=Amount(settings.source_documents, settings.source_size or UNLIMITED.size),
    )


def named_source(settings: Settings) -> KubeObject | None:
    """Return the source that the flags name; it is the platform's own, and may do everything."""
    if not settings.repo:
        return None
    spec = SourceSpec(
        url=repository_url(settings.repo),
        ref=WantedRef(
            branch=settings.branch,
            tag=settings.tag,
            semver=settings.semver,
            commit=settings.commit,
        ),
        paths=settings.path,
        interval=settings.repo_interval,
        secret=settings.repo_secret,
        allow=EVERYTHING,
    )
    return {
        "apiVersion": GIT_SOURCE_KIND.api_version,
        "kind": GIT_SOURCE_KIND.kind,
        "metadata": {"name": settings.repo_name, "namespace": settings.repo_namespace},
        "spec": write_spec(spec),
    }


class EngineView:
    """The part of the engine that sources see."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def definition(self, name: str) -> KubeObject | None:
        """Return a definition as it was last seen."""
        return self._engine.definition(name)

    def instance(self, ref: ObjectRef) -> KubeObject | None:
        """Return an instance as it was last seen."""
        return self._engine.watches.instance(ref)

    def is_instance(self, kind: Kind) -> bool:
        """Return whether a kind is generated by a definition."""
        return kind in self._engine.served_kinds

    def schema_of(self, kind: Kind) -> KindSchema | None:
        """Return the schema of a kind that a definition generates, as it is served."""
        served = self._engine.served_kinds.get(kind)
        return served.graph.served if served is not None and served.graph is not None else None

    def instances_of(self, kind: Kind) -> int:
        """Count the instances of a kind in all namespaces."""
        return len(self._engine.watches.instances(kind))

    def children_health(self, ref: ObjectRef) -> HealthStatus | None:
        """Return why the children of an instance are not healthy now."""
        return self._engine.children_health(ref)

    def wake(self, ref: ObjectRef) -> None:
        """Reconcile an instance at once."""
        self._engine.wake(ref)

    def children_of(self, instance: ObjectRef) -> int:
        """Count the children that would be deleted with an instance, nested ones included."""
        return self._engine.children_of(instance)

    def take_counts(self, source: str) -> Mapping[str, ChildCounts]:
        """Return what came of the children of a source since the last time, by revision."""
        return self._engine.counter.take(source)

    def listen(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with a source whenever children of it were counted."""
        self._engine.counter.listen(listener)

    def child_kinds(self, kind: Kind) -> frozenset[Kind]:
        """Return the kinds of which instances of a kind have children."""
        served = self._engine.served_kinds.get(kind)
        nodes = served.nodes() if served is not None else ()
        return frozenset(each.resource for each in nodes if not each.kind.is_external)


def request_limits(settings: Settings) -> ClientLimits:
    """Return the limits of requests to the API server."""
    if not settings.client_qps:
        return ClientLimits()
    return ClientLimits(per_second=settings.client_qps, burst=settings.client_burst)


def _loop(settings: Settings, workers: int) -> LoopSettings:
    backoff = Backoff(
        settings.dynamic_controller_rate_limiter_min_delay,
        settings.dynamic_controller_rate_limiter_max_delay,
    )
    pace = RetryDelays(settings.instance_requeue_interval, backoff)
    return LoopSettings(workers, grace=settings.graceful_shutdown_timeout, pace=pace)
