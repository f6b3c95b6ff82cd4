"""
Strategies of the kinds that run pods, or that care for running pods.
"""

from collections.abc import Mapping

from kube_sandbox.registry.builtin.autoscaling.strategy import Autoscalers
from kube_sandbox.registry.builtin.base_strategy import KindOptions
from kube_sandbox.registry.builtin.cron_jobs import CronJobs
from kube_sandbox.registry.builtin.daemon_sets import DaemonSets
from kube_sandbox.registry.builtin.deployments import Deployments
from kube_sandbox.registry.builtin.jobs.strategy import Jobs
from kube_sandbox.registry.builtin.pod_disruption_budgets import DisruptionBudgets
from kube_sandbox.registry.builtin.pods.strategy import Pods
from kube_sandbox.registry.builtin.pods.template_strategy import PodTemplates
from kube_sandbox.registry.builtin.replica_sets import ReplicaSets, ReplicationControllers
from kube_sandbox.registry.builtin.stateful_sets import ControllerRevisions, StatefulSets
from kube_sandbox.registry.name_validation import name_is_label
from kube_sandbox.registry.strategy import Strategy

_COUNTED = KindOptions(has_status=True, counted=("spec",))

WORKLOADS: Mapping[str, Strategy] = {
    "pods": Pods(_COUNTED),
    "podtemplates": PodTemplates(KindOptions(counted=("template",))),
    "replicationcontrollers": ReplicationControllers(_COUNTED),
    "deployments.apps": Deployments(_COUNTED),
    "replicasets.apps": ReplicaSets(_COUNTED),
    "statefulsets.apps": StatefulSets(
        KindOptions(has_status=True, counted=("spec",), name_rule=name_is_label)
    ),
    "daemonsets.apps": DaemonSets(_COUNTED),
    "controllerrevisions.apps": ControllerRevisions(KindOptions()),
    "jobs.batch": Jobs(_COUNTED),
    "cronjobs.batch": CronJobs(_COUNTED),
    "horizontalpodautoscalers.autoscaling": Autoscalers(KindOptions(has_status=True)),
    "poddisruptionbudgets.policy": DisruptionBudgets(
        KindOptions(has_status=True, counted=("spec",), allows_unconditional_update=False)
    ),
}
