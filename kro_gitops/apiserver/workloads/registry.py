"""
Every pretended controller, by the bucket of the objects that it looks after.
"""

from collections.abc import Mapping

from kro_gitops.apiserver.workloads import (
    aggregated_roles,
    cron_jobs,
    daemon_sets,
    deployments,
    disruptions,
    jobs,
    pods,
    quotas,
    replica_sets,
    services,
    stateful_sets,
)
from kro_gitops.apiserver.workloads.plans import Controller


def controllers() -> Mapping[str, Controller]:
    """Return the controllers of workloads; namespaces are looked after apart from them."""
    every = (
        cron_jobs.CONTROLLER,
        daemon_sets.CONTROLLER,
        deployments.CONTROLLER,
        disruptions.CONTROLLER,
        jobs.CONTROLLER,
        pods.CONTROLLER,
        replica_sets.CONTROLLER,
        *services.CONTROLLERS,
        stateful_sets.CONTROLLER,
    )
    return {each.bucket: each for each in every}


def standing_controllers() -> Mapping[str, Controller]:
    """Return those that are there with or without workloads."""
    every = (aggregated_roles.CONTROLLER, quotas.CONTROLLER)
    return {each.bucket: each for each in every}
