"""The strategies of all kinds that run pods, or care for those that run."""

from collections.abc import Mapping

from kro_gitops.apiserver.builtins.autoscalers import Autoscalers
from kro_gitops.apiserver.builtins.cron_jobs import CronJobs
from kro_gitops.apiserver.builtins.daemon_sets import DaemonSets
from kro_gitops.apiserver.builtins.deployments import Deployments
from kro_gitops.apiserver.builtins.disruption_budgets import DisruptionBudgets
from kro_gitops.apiserver.builtins.jobs import Jobs
from kro_gitops.apiserver.builtins.plain import Ways
from kro_gitops.apiserver.builtins.pod_templates import PodTemplates
from kro_gitops.apiserver.builtins.pods import Pods
from kro_gitops.apiserver.builtins.replica_sets import ReplicaSets, ReplicationControllers
from kro_gitops.apiserver.builtins.stateful_sets import ControllerRevisions, StatefulSets
from kro_gitops.apiserver.names import name_is_label
from kro_gitops.apiserver.strategy import Strategy

_COUNTED = Ways(has_status=True, counted=("spec",))

WORKLOADS: Mapping[str, Strategy] = {
    "pods": Pods(_COUNTED),
    "podtemplates": PodTemplates(Ways(counted=("template",))),
    "replicationcontrollers": ReplicationControllers(_COUNTED),
    "deployments.apps": Deployments(_COUNTED),
    "replicasets.apps": ReplicaSets(_COUNTED),
    "statefulsets.apps": StatefulSets(
        Ways(has_status=True, counted=("spec",), name_rule=name_is_label)
    ),
    "daemonsets.apps": DaemonSets(_COUNTED),
    "controllerrevisions.apps": ControllerRevisions(Ways()),
    "jobs.batch": Jobs(_COUNTED),
    "cronjobs.batch": CronJobs(_COUNTED),
    "horizontalpodautoscalers.autoscaling": Autoscalers(Ways(has_status=True)),
    "poddisruptionbudgets.policy": DisruptionBudgets(
        Ways(has_status=True, counted=("spec",), allows_unconditional_update=False)
    ),
}
