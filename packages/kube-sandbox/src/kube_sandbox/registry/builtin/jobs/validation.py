"""
What is wrong with the spec of a Job, alone or in a CronJob.

Follows kubernetes 1.35 pkg/apis/batch/validation/validation.go ValidateJobSpec,
validatePodFailurePolicy, validateSuccessPolicy.
"""

from collections.abc import Collection, Mapping
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.field_validation import (
    Errors,
    by_rule,
    choice,
    nonnegative,
    nonnegatives,
)
from kube_sandbox.registry.builtin.internal_json import format_internal
from kube_sandbox.registry.builtin.jobs.completion_indexes import WrongIndexesError, count_indexes
from kube_sandbox.registry.builtin.pods.validation import check_template
from kube_sandbox.registry.field_errors import (
    ErrorType,
    FieldError,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from kube_sandbox.registry.name_validation import dns_subdomain, http_path, qualified_name

_NUMBERS = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit"),
    *("ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"),
)
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_STATES = ("False", "True", "Unknown")
_MOST_AT_ONCE = _MOST_FAILED = _MANY_COMPLETIONS = 100_000
_MAX_PARALLELISM_FOR_MANY = 10_000
_MOST_RULES, _MOST_CODES, _MOST_PATTERNS = 20, 255, 20
_MAX_MANAGER_LENGTH = 63
_MAX_INDEXES_LENGTH = 64 * 1024
_NEEDS_INDEXES = "requires indexed completion mode"


def check_job_spec(spec: KubeObject, at: str) -> Errors:
    """Return what is wrong with the spec of a job, without its selector."""
    found = nonnegatives(spec, _NUMBERS, at)
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        told = "when maxFailedIndexes is specified"
        found.append(required(f"{at}.backoffLimitPerIndex", told))
    if (manager := spec.get("managedBy")) is not None:
        # Judge who is to care for a job: a domain and a path.
        manager_at = f"{at}.managedBy"
        domain, slash, path = manager.partition("/")
        if not manager:
            manager_found = [required(manager_at)]
        elif not slash or not domain or not path:
            manager_told = 'must be a domain-prefixed path (such as "acme.io/foo")'
            manager_found = [invalid(manager_at, manager, manager_told)]
        else:
            manager_found = [invalid(manager_at, domain, each) for each in dns_subdomain(domain)]
            manager_found += [invalid(manager_at, path, each) for each in http_path(path)]
        if len(manager) > _MAX_MANAGER_LENGTH:
            manager_found.append(too_long(manager_at, _MAX_MANAGER_LENGTH))
        found += manager_found
    mode = spec.get("completionMode")
    found += choice(mode, ("NonIndexed", "Indexed"), f"{at}.completionMode")
    if mode == "Indexed":
        found += _indexed(spec, at)
    elif mode in (None, "NonIndexed"):
        found += [
            invalid(f"{at}.{key}", spec[key], _NEEDS_INDEXES)
            for key in ("backoffLimitPerIndex", "maxFailedIndexes")
            if key in spec
        ]
    found += _policies(spec, at)
    found += check_template(spec.get("template", {}), f"{at}.template")
    restart_at = f"{at}.template.spec.restartPolicy"
    policy = spec.get("template", {}).get("spec", {}).get("restartPolicy", "")
    if policy in ("", "Always"):
        restart_policy: Errors = [required(restart_at, 'valid values: "OnFailure", "Never"')]
    elif policy not in ("OnFailure", "Never"):
        restart_policy = [not_supported(restart_at, policy, ("OnFailure", "Never"))]
    elif "podFailurePolicy" in spec and policy != "Never":
        told = 'only "Never" is supported when podFailurePolicy is specified'
        restart_policy = [invalid(restart_at, policy, told)]
    else:
        restart_policy = []
    return found + restart_policy


def _indexed(spec: KubeObject, at: str) -> Errors:
    completions, at_once = spec.get("completions"), spec.get("parallelism", 0)
    failed = spec.get("maxFailedIndexes")
    found: Errors = []
    if completions is None:
        found.append(required(f"{at}.completions", "when completion mode is Indexed"))
    if at_once > _MOST_AT_ONCE:
        told = f"must be less than or equal to {_MOST_AT_ONCE} when completion mode is Indexed"
        found.append(invalid(f"{at}.parallelism", at_once, told))
    if completions is not None and failed is not None and failed > completions:
        told = "must be less than or equal to completions"
        found.append(invalid(f"{at}.maxFailedIndexes", failed, told))
    if failed is not None and failed > _MOST_FAILED:
        told = f"must be less than or equal to {_MOST_FAILED}"
        found.append(invalid(f"{at}.maxFailedIndexes", failed, told))
    if (completions or 0) > _MANY_COMPLETIONS and "backoffLimitPerIndex" in spec:
        told = (
            f"must be less than or equal to {_MAX_PARALLELISM_FOR_MANY} when completions are above "
            f"{_MANY_COMPLETIONS} and used with backoff limit per index"
        )
        if failed is None:
            text = f"must be specified when completions is above {_MANY_COMPLETIONS}"
            found.append(required(f"{at}.maxFailedIndexes", text))
        if at_once > _MAX_PARALLELISM_FOR_MANY:
            found.append(invalid(f"{at}.parallelism", at_once, told))
        if failed is not None and failed > _MAX_PARALLELISM_FOR_MANY:
            found.append(invalid(f"{at}.maxFailedIndexes", failed, told))
    return found


def _policies(spec: KubeObject, at: str) -> Errors:
    found: Errors = []
    failure, success = spec.get("podFailurePolicy"), spec.get("successPolicy")
    if failure is not None:
        failure_rules = failure.get("rules") or ()
        failure_at = f"{at}.podFailurePolicy.rules"
        if len(failure_rules) > _MOST_RULES:
            found.append(too_many(failure_at, len(failure_rules), _MOST_RULES))
        pod = spec.get("template", {}).get("spec", {})
        names = {
            each.get("name")
            for key in ("containers", "initContainers")
            for each in pod.get(key) or ()
        }
        for index, rule in enumerate(failure_rules):
            where, action = f"{failure_at}[{index}]", rule.get("action", "")
            if not action:
                found.append(required(f"{where}.action", _values(_ACTIONS)))
            elif action == "FailIndex" and "backoffLimitPerIndex" not in spec:
                failure_told = "requires the backoffLimitPerIndex to be set"
                found.append(invalid(f"{where}.action", action, failure_told))
            else:
                found += choice(action, _ACTIONS, f"{where}.action")
            found += _failure_rule(rule, names, where)
    if success is not None and spec.get("completionMode") != "Indexed":
        shown = format_internal(success, "batch.SuccessPolicy")
        found.append(invalid(f"{at}.successPolicy", shown, _NEEDS_INDEXES))
    elif success is not None:
        rules = success.get("rules") or ()
        success_at = f"{at}.successPolicy.rules"
        if not rules:
            told = "at least one rules must be specified when the successPolicy is specified"
            found.append(required(success_at, told))
        if len(rules) > _MOST_RULES:
            found.append(too_many(success_at, len(rules), _MOST_RULES))
        completions = spec.get("completions", 0)
        for index, rule in enumerate(rules):
            found += _success_rule(rule, completions, f"{success_at}[{index}]")
    known = ("Failed", "TerminatingOrFailed") if failure is None else ("Failed",)
    return found + choice(spec.get("podReplacementPolicy"), known, f"{at}.podReplacementPolicy")


def _values(values: Collection[str]) -> str:
    listed = " ".join(f'"{each}"' for each in values)
    return f"valid values: [{listed}]"


def _failure_rule(rule: Mapping[str, Any], names: Collection[str], at: str) -> Errors:
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions", ())
    found: Errors = []
    if codes is not None:
        found += _exit_codes(codes, names, f"{at}.onExitCodes")
    if conditions:
        if len(conditions) > _MOST_PATTERNS:
            found.append(too_many(f"{at}.onPodConditions", len(conditions), _MOST_PATTERNS))
        for index, pattern in enumerate(conditions):
            where = f"{at}.onPodConditions[{index}]"
            found += by_rule(pattern.get("type", ""), f"{where}.type", qualified_name)
            found += choice(pattern.get("status", ""), _STATES, f"{where}.status")
    if codes is not None and conditions:
        told = "specifying both OnExitCodes and OnPodConditions is not supported"
        found.append(FieldError(ErrorType.INVALID, at, detail=told))
    elif codes is None and not conditions:
        told = "specifying one of OnExitCodes and OnPodConditions is required"
        found.append(FieldError(ErrorType.INVALID, at, detail=told))
    return found


def _exit_codes(codes: Mapping[str, Any], names: Collection[str], at: str) -> Errors:
    operator, values = codes.get("operator", ""), codes.get("values") or []
    operators = ("In", "NotIn")
    found: Errors = []
    if not operator:
        found.append(required(f"{at}.operator", _values(operators)))
    else:
        found += choice(operator, operators, f"{at}.operator")
    name = codes.get("containerName")
    if name is not None and name not in names:
        told = "must be one of the container or initContainer names in the pod template"
        found.append(invalid(f"{at}.containerName", name, told))
    if not values:
        found.append(invalid(f"{at}.values", None, "at least one value is required"))
    elif len(values) > _MOST_CODES:
        found.append(too_many(f"{at}.values", len(values), _MOST_CODES))
    for index, value in enumerate(values):
        where = f"{at}.values[{index}]"
        if operator == "In" and value == 0:
            found.append(invalid(where, value, "must not be 0 for the In operator"))
        if value in values[:index]:
            found.append(duplicate(where, value))
    if sorted(values) != list(values):
        found.append(invalid(f"{at}.values", values, "must be ordered"))
    return found


def _success_rule(rule: Mapping[str, Any], completions: int, at: str) -> Errors:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    found: Errors = []
    total = 0
    if count is None and indexes is None:
        told = "at least one of succeededCount or succeededIndexes must be specified"
        found.append(required(at, told))
    if indexes is not None:
        where = f"{at}.succeededIndexes"
        if len(indexes) > _MAX_INDEXES_LENGTH:
            found.append(too_long(where, _MAX_INDEXES_LENGTH))
        try:
            total = count_indexes(indexes, completions)
        except WrongIndexesError as error:
            found.append(invalid(where, indexes, f"error parsing succeededIndexes: {error}"))
    if count is None:
        return found
    where, told = f"{at}.succeededCount", "must be less than or equal to"
    found += nonnegative(count, where)
    if count > completions:
        text = f"{told} {completions} (the number of specified completions)"
        found.append(invalid(where, count, text))
    if indexes is not None and count > total:
        text = f"{told} {total} (the number of indexes in the specified succeededIndexes field)"
        found.append(invalid(where, count, text))
    return found
