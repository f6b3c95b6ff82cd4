"""
Settings → the rules that each part of the engine goes by.
"""

from kro_gitops.config import AdoptionPolicy, Gate, Settings
from kro_gitops.control.backoff import Backoff
from kro_gitops.control.loop import Settings as LoopSettings
from kro_gitops.control.outcome import Pace
from kro_gitops.engine.controllers.definitions import DefinitionRules
from kro_gitops.engine.controllers.engine import DEFINITIONS, INSTANCES, REVISIONS, EngineRules
from kro_gitops.engine.controllers.instances import InstanceRules
from kro_gitops.engine.options import Options
from kro_gitops.kube.pace import Limits
from kro_gitops.tracking.methods import ArgoCD
from kro_gitops.tracking.stamp import Policy


def engine_rules(settings: Settings) -> EngineRules:
    """Return the rules of the engine."""
    return EngineRules(
        instances=_instance_rules(settings),
        definitions=DefinitionRules(
            deletes_crds=settings.allow_crd_deletion,
            keeps_revisions=settings.rgd_max_graph_revisions,
            progress_delay=settings.rgd_progress_requeue_delay,
        ),
        options=Options(
            omit=Gate.OMIT in settings.feature_gates,
            max_dimensions=settings.rgd_max_collection_dimension_size,
            max_collection_size=settings.rgd_max_collection_size,
        ),
        tells_all_conditions=Gate.CONDITION_EVENTS in settings.feature_gates,
        loops={
            DEFINITIONS: _loop(settings, settings.resource_graph_definition_concurrent_reconciles),
            REVISIONS: _loop(settings, settings.graph_revision_concurrent_reconciles),
            INSTANCES: _loop(settings, settings.dynamic_controller_concurrent_reconciles),
        },
    )


def request_limits(settings: Settings) -> Limits:
    """Return what may be asked of the API server."""
    if not settings.client_qps:
        return Limits()
    return Limits(per_second=settings.client_qps, burst=settings.client_burst)


def _instance_rules(settings: Settings) -> InstanceRules:
    return InstanceRules(
        version=settings.kro_version,
        tracking=Policy(
            settings.tracking_mode,
            ArgoCD(settings.argocd_tracking_method, settings.argocd_label_key),
            settings.propagate_labels,
        ),
        adopts=settings.adoption_policy is AdoptionPolicy.ADOPT,
        interval=settings.instance_requeue_interval,
        evaluation_limit=settings.evaluation_limit,
        collection_size=settings.rgd_max_collection_size,
    )


def _loop(settings: Settings, workers: int) -> LoopSettings:
    backoff = Backoff(
        settings.dynamic_controller_rate_limiter_min_delay,
        settings.dynamic_controller_rate_limiter_max_delay,
    )
    pace = Pace(settings.instance_requeue_interval, backoff)
    return LoopSettings(workers, grace=settings.graceful_shutdown_timeout, pace=pace)
