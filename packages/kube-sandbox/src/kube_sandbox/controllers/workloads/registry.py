"""
All simulated controllers, by the bucket of the objects that they manage.
"""

from collections.abc import Mapping

from kube_sandbox.controllers.workloads import (
    cluster_role_aggregation,
    cron_jobs,
    daemon_sets,
    deployments,
    disruption_budgets,
    jobs,
    pods,
    replica_sets,
    resource_quotas,
    services_and_volumes,
    stateful_sets,
)
from kube_sandbox.controllers.workloads.plan_steps import Controller


def controllers() -> Mapping[str, Controller]:
    """Return the controllers of workloads; namespaces have a controller of their own."""
    every = (
        cron_jobs.CONTROLLER,
        daemon_sets.CONTROLLER,
        deployments.CONTROLLER,
        disruption_budgets.CONTROLLER,
        jobs.CONTROLLER,
        pods.CONTROLLER,
        replica_sets.CONTROLLER,
        *services_and_volumes.CONTROLLERS,
        stateful_sets.CONTROLLER,
    )
    return {each.bucket: each for each in every}


def standing_controllers() -> Mapping[str, Controller]:
    """Return those that are there with or without workloads."""
    every = (cluster_role_aggregation.CONTROLLER, resource_quotas.CONTROLLER)
    return {each.bucket: each for each in every}
