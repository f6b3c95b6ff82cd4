"""
What a Job makes of how its pods end: by its podFailurePolicy and its successPolicy.

Follows kubernetes 1.35 pkg/controller/job/pod_failure_policy.go matchPodFailurePolicy;
pkg/controller/job/success_policy.go matchSuccessPolicy.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.controllers.workloads.job_pods import has_failed, parse_indexes


def is_ignored(job: KubeObject, pod: KubeObject) -> bool:
    """Say whether a failed pod does not count as one."""
    return _action(job, pod)[0] == "Ignore"


def fails_index(job: KubeObject, pod: KubeObject) -> bool:
    """Say whether a failed pod's number is not tried again."""
    return _action(job, pod)[0] == "FailIndex"


def failing(job: KubeObject, pods: Iterable[KubeObject]) -> str:
    """Return why a pod that failed fails its whole Job; empty if none does."""
    found = (_action(job, each) for each in pods if has_failed(each))
    return next((words for action, words in found if action == "FailJob"), "")


def _action(job: KubeObject, pod: KubeObject) -> tuple[str, str]:
    """Return what the first rule that a failed pod matches has done, and the words for it."""
    metadata = pod["metadata"]
    named = f"{metadata['namespace']}/{metadata['name']}"
    rules = (job["spec"].get("podFailurePolicy") or {}).get("rules") or ()
    for number, rule in enumerate(rules):
        for cause in _causes(rule, pod.get("status") or {}, named):
            return rule["action"], f"{cause} matching {rule['action']} rule at index {number}"
    return "", ""


def _causes(rule: Mapping[str, Any], status: Mapping[str, Any], named: str) -> Iterator[str]:
    """Give what of a pod meets a rule."""
    codes = rule.get("onExitCodes")
    if codes:
        for each in (
            *(status.get("containerStatuses") or ()),
            *(status.get("initContainerStatuses") or ()),
        ):
            ended = (each.get("state") or {}).get("terminated")
            if ended:
                name = each["name"]
                matches_code = ended["exitCode"]
                if not matches_code or codes.get("containerName", name) != name:
                    matches_exit_code = False
                else:
                    is_listed: bool = matches_code in codes["values"]
                    matches_exit_code = is_listed if codes["operator"] == "In" else not is_listed
                if matches_exit_code:
                    code = ended["exitCode"]
                    yield f"Container {each['name']} for pod {named} failed with exit code {code}"
        return
    patterns = {(each["type"], each["status"]) for each in rule.get("onPodConditions") or ()}
    for each in status.get("conditions") or ():
        if (each["type"], each["status"]) in patterns:
            yield f"Pod {named} has condition {each['type']}"


def success(job: KubeObject, done: set[int]) -> str:
    """Say by which rule enough numbers of a Job are done; empty if by none."""
    for number, rule in enumerate((job["spec"].get("successPolicy") or {}).get("rules") or ()):
        wanted = parse_indexes(rule["succeededIndexes"]) if "succeededIndexes" in rule else None
        count = rule.get("succeededCount")
        met = len(done if wanted is None else done & wanted)
        if (wanted is not None and met == len(wanted)) or (count is not None and met >= count):
            return f"Matched rules at index {number}"
    return ""
