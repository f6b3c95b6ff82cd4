"""
Tables: the meaning of a condition in plain words, and what to do next.

Keyed by the reason of a condition. kro has few reasons and long messages, so a row can also ask
for words of the message, as kro and the API server write them; the first row that matches is used.
Steps may name `{object}` (as kubectl takes it), `{definition}`, `{resource}` and `{file}`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kube_objects.conditions import Condition


@dataclass(frozen=True, slots=True)
class Advice:
    """The meaning of a condition, and one to three steps."""

    meaning: str
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One rule: a reason, and words that the message must contain."""

    reason: str
    holds: str
    advice: Advice


def _row(reason: str, holds: str, meaning: str, *steps: str) -> Row:
    return Row(reason, holds, Advice(meaning, steps))


_LOOK = "look at it: kubectl describe {object}"
_VALIDATE = "check the definition's file with `kro-gitops validate`, and push what it says"

INSTANCE_ADVICE = (
    _row(
        "AwaitingReconciliation",
        "",
        "no controller has looked at it yet",
        "see that kro-gitops (or kro) runs and that its log shows no error",
    ),
    _row(
        "ManagementFailed",
        "inventory",
        "its inventory of children was changed by another client, so nothing is changed",
        "put back the applyset.kubernetes.io annotations that the message names",
    ),
    _row(
        "ManagementFailed",
        "",
        "the controller may not, or cannot, write its finalizer and labels",
        "let the controller patch {resource}; the message says what rejected it",
    ),
    _row(
        "ResolutionFailed",
        "pending",
        "the newest revision of its definition is being compiled",
        "wait a few seconds and ask again",
    ),
    _row(
        "ResolutionFailed",
        "",
        "the newest revision of its definition cannot be used",
        "see why: kro-gitops get rgds {definition}",
        _VALIDATE,
    ),
    _row("NotReady", "cluster mutated", "children were changed a moment ago", "ask again shortly"),
    _row(
        "NotReady",
        "waiting for external",
        "an object that it refers to is not there, or not ready",
        "create the object that the message names, or correct the reference",
    ),
    _row(
        "NotReady",
        "belongs to a different ApplySet",
        "another instance made an object of the same name",
        "give the child another name in the definition, or delete the other instance",
    ),
    _row(
        "NotReady",
        "waiting for node",
        "a child exists, and does not fulfil `readyWhen` yet",
        "see what the child waits for: its health, pods and events are below",
    ),
    _row(
        "NotReady",
        "waiting for unresolved resource",
        "a child cannot be written yet: it needs a value that another child does not have so far",
        "see to the child whose field the message names; it has to fill that field first",
    ),
    _row(
        "NotReady",
        "is forbidden",
        "the API server does not allow a child to be written",
        "grant the right that the message names, or change the quota or policy that rejects it",
    ),
    _row(
        "NotReady",
        "denied the request",
        "an admission webhook rejects a child",
        "change what the webhook objects to, in {file} or in the definition",
    ),
    _row(
        "NotReady",
        "is invalid",
        "the API server does not accept a child as it is written",
        "correct the field that the message names, in {file} or in the definition",
    ),
    _row(
        "NotReady",
        "maximum collection size",
        "a `forEach` would make more objects than are allowed",
        "shorten the list in {file}, or raise the limit of the controller",
    ),
    _row(
        "NotReady",
        "identity collision",
        "two items of a `forEach` would be the same object",
        "make the name in the definition depend on every iterator",
    ),
    _row(
        "NotReady",
        "found resources with conflicts",
        "two nodes of the definition would be the same object",
        "give one of them another name in the definition",
    ),
    _row(
        "NotReady",
        "must resolve metadata.namespace",
        "a child needs a namespace, and a cluster-scoped instance has none to give",
        "set metadata.namespace in the definition's template",
    ),
    _row(
        "NotReady",
        "REST mapping",
        "the cluster does not know the kind of a child",
        "install the CRD of the kind that the message names",
    ),
    _row(
        "NotReady",
        "prune",
        "a child that is no longer desired cannot be deleted",
        "see what holds it: the message names it",
    ),
    _row(
        "NotReady",
        "eval ",
        "an expression of the definition fails for this instance",
        "see what it reads: `kro-gitops eval` shows its value for {file}",
    ),
    _row("NotReady", "", "a child is not there yet, or not ready", _LOOK),
    _row(
        "ResourceDeleting",
        "",
        "a child is being deleted, and has to be gone before it can be created again",
        "if it does not go: see to the finalizers of the child that the message names",
    ),
    _row(
        "EvaluationLimitExceeded",
        "",
        "the expressions of this instance took too long; its children stay as they are",
        "use fewer or simpler expressions, smaller collections, or several instances",
    ),
    _row(
        "ReconciliationSuspended",
        "",
        "it is suspended: nothing is changed until it is resumed",
        "resume it: kubectl annotate {object} kro.run/reconcile-",
    ),
    _row(
        "UnderDeletion",
        "deletion blocked",
        "it is being deleted, and something is in the way",
        "see to what the message names; the instance goes when its children have gone",
    ),
    _row(
        "UnderDeletion",
        "",
        "it is being deleted, children first",
        "wait for the children below to go; one that stays has a finalizer of its own",
    ),
)

DEFINITION_ADVICE = (
    _row("InvalidResourceGraph", "", "the definition is not valid", _VALIDATE),
    _row(
        "Failed",
        "breaking",
        "the change would break instances that exist",
        "take the change back, or allow it: "
        "kubectl annotate rgd {definition} kro.run/allow-breaking-changes=true",
    ),
    _row(
        "Failed",
        "",
        "the definition's kind cannot be served",
        "see why: kro-gitops get rgds {definition}",
    ),
    _row(
        "FailedToStart",
        "",
        "the controller cannot watch the definition's kind",
        "let the controller list and watch {resource}",
    ),
    _row(
        "FailedLabelerSetup",
        "",
        "labels of the controller and of the definition contradict each other",
        "remove labels below kro.run/ from the definition's schema",
    ),
    _row(
        "WaitingForGraphRevisionCompilation",
        "",
        "the definition's newest revision is being compiled",
        "wait a few seconds and ask again",
    ),
    _row(
        "WaitingForGraphRevisionWarmup",
        "",
        "the controller has just started and reads the definition's revisions",
        "wait a few seconds and ask again",
    ),
    _row(
        "WaitingForGraphRevisionSettlement",
        "",
        "old revisions of the definition are being removed",
        "wait a few seconds and ask again",
    ),
    _row(
        "AwaitingReconciliation",
        "",
        "no controller has looked at the definition yet",
        "see that kro-gitops (or kro) runs and that its log shows no error",
    ),
)

# Why pods and workloads do not get ready, in Kubernetes' words.
CHILD_STEPS: Mapping[str, str] = {
    "ErrImagePull": "correct the image's name or tag, or give the pod a pull secret",
    "ImagePullBackOff": "correct the image's name or tag, or give the pod a pull secret",
    "InvalidImageName": "correct the image's name",
    "ErrImageNeverPull": "the image must be on the node already: change imagePullPolicy",
    "CrashLoopBackOff": "read why the container ends: kubectl logs --previous {object}",
    "RunContainerError": "see why the container does not start: kubectl describe {object}",
    "CreateContainerConfigError": "create the ConfigMap or Secret that the container names",
    "CreateContainerError": "see why the container is not made: kubectl describe {object}",
    "Unschedulable": "no node takes the pod: lower its requests, or add room",
    "ProgressDeadlineExceeded": "the rollout got stuck: see to its pods, or roll the change back",
    "FailedCreate": "pods cannot be made: see to the quota or policy that the message names",
    "BackoffLimitExceeded": "the job failed too often: kubectl logs {object}",
    "DeadlineExceeded": "the job took too long: raise activeDeadlineSeconds, or see what it does",
}


def advice_for(condition: Condition, rows: Iterable[Row] = INSTANCE_ADVICE) -> Advice | None:
    """Return the advice on a condition, by its reason and message."""
    message = condition.message or ""
    for row in rows:
        if row.reason == condition.reason and row.holds in message:
            return row.advice
    return None
