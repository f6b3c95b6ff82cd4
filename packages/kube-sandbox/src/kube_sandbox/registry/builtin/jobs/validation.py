"""
Validation of the spec of a Job, alone or in a CronJob.

Follows kubernetes 1.35 pkg/apis/batch/validation/validation.go ValidateJobSpec,
validatePodFailurePolicy, validateSuccessPolicy.
"""

from collections.abc import Collection, Mapping, Sequence
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
_NO_MANAGER = 'must be a domain-prefixed path (such as "acme.io/foo")'
_NEEDS_INDEXES = "requires indexed completion mode"


def check_job_spec(spec: KubeObject, at: str) -> Errors:
    """Return the errors in the spec of a job, without its selector."""
    found = nonnegatives(spec, _NUMBERS, at)
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        found.append(required(f"{at}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if (manager := spec.get("managedBy")) is not None:
        where = f"{at}.managedBy"
        domain, slash, path = manager.partition("/")
        if not manager:
            found.append(required(where))
        elif not slash or not domain or not path:
            found.append(invalid(where, manager, _NO_MANAGER))
        else:
            found += [invalid(where, domain, each) for each in dns_subdomain(domain)]
            found += [invalid(where, path, each) for each in http_path(path)]
        if len(manager) > _MAX_MANAGER_LENGTH:
            found.append(too_long(where, _MAX_MANAGER_LENGTH))
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
    failure, success = spec.get("podFailurePolicy"), spec.get("successPolicy")
    if failure is not None:
        found += _failure_policy(failure.get("rules") or (), spec, f"{at}.podFailurePolicy.rules")
    if success is not None and mode != "Indexed":
        shown = format_internal(success, "batch.SuccessPolicy")
        found.append(invalid(f"{at}.successPolicy", shown, _NEEDS_INDEXES))
    elif success is not None:
        found += _success_policy(success.get("rules") or (), spec, f"{at}.successPolicy.rules")
    known = ("Failed", "TerminatingOrFailed") if failure is None else ("Failed",)
    found += choice(spec.get("podReplacementPolicy"), known, f"{at}.podReplacementPolicy")
    found += check_template(spec.get("template", {}), f"{at}.template")
    where = f"{at}.template.spec.restartPolicy"
    policy = spec.get("template", {}).get("spec", {}).get("restartPolicy", "")
    if policy in ("", "Always"):
        found.append(required(where, 'valid values: "OnFailure", "Never"'))
    elif policy not in ("OnFailure", "Never"):
        found.append(not_supported(where, policy, ("OnFailure", "Never")))
    elif "podFailurePolicy" in spec and policy != "Never":
        message = 'only "Never" is supported when podFailurePolicy is specified'
        found.append(invalid(where, policy, message))
    return found


def _indexed(spec: KubeObject, at: str) -> Errors:
    completions, at_once = spec.get("completions"), spec.get("parallelism", 0)
    failed = spec.get("maxFailedIndexes")
    found: Errors = []
    if completions is None:
        found.append(required(f"{at}.completions", "when completion mode is Indexed"))
    if at_once > _MOST_AT_ONCE:
        message = f"must be less than or equal to {_MOST_AT_ONCE} when completion mode is Indexed"
        found.append(invalid(f"{at}.parallelism", at_once, message))
    if completions is not None and failed is not None and failed > completions:
        message = "must be less than or equal to completions"
        found.append(invalid(f"{at}.maxFailedIndexes", failed, message))
    if failed is not None and failed > _MOST_FAILED:
        message = f"must be less than or equal to {_MOST_FAILED}"
        found.append(invalid(f"{at}.maxFailedIndexes", failed, message))
    if (completions or 0) > _MANY_COMPLETIONS and "backoffLimitPerIndex" in spec:
        message = (
            f"must be less than or equal to {_MAX_PARALLELISM_FOR_MANY} when completions are above "
            f"{_MANY_COMPLETIONS} and used with backoff limit per index"
        )
        if failed is None:
            text = f"must be specified when completions is above {_MANY_COMPLETIONS}"
            found.append(required(f"{at}.maxFailedIndexes", text))
        if at_once > _MAX_PARALLELISM_FOR_MANY:
            found.append(invalid(f"{at}.parallelism", at_once, message))
        if failed is not None and failed > _MAX_PARALLELISM_FOR_MANY:
            found.append(invalid(f"{at}.maxFailedIndexes", failed, message))
    return found


def _values(values: Collection[str]) -> str:
    listed = " ".join(f'"{each}"' for each in values)
    return f"valid values: [{listed}]"


def _failure_policy(rules: Sequence[Mapping[str, Any]], spec: KubeObject, at: str) -> Errors:
    found: Errors = []
    if len(rules) > _MOST_RULES:
        found.append(too_many(at, len(rules), _MOST_RULES))
    pod = spec.get("template", {}).get("spec", {})
    containers = [*(pod.get("containers") or ()), *(pod.get("initContainers") or ())]
    names = {container.get("name") for container in containers}
    for index, rule in enumerate(rules):
        where, action = f"{at}[{index}]", rule.get("action", "")
        if not action:
            found.append(required(f"{where}.action", _values(_ACTIONS)))
        elif action == "FailIndex" and "backoffLimitPerIndex" not in spec:
            message = "requires the backoffLimitPerIndex to be set"
            found.append(invalid(f"{where}.action", action, message))
        else:
            found += choice(action, _ACTIONS, f"{where}.action")
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions", ())
        if codes is not None:
            found += _exit_codes(codes, names, f"{where}.onExitCodes")
        if len(conditions) > _MOST_PATTERNS:
            found.append(too_many(f"{where}.onPodConditions", len(conditions), _MOST_PATTERNS))
        for at_pattern, pattern in enumerate(conditions):
            pattern_at = f"{where}.onPodConditions[{at_pattern}]"
            found += by_rule(pattern.get("type", ""), f"{pattern_at}.type", qualified_name)
            found += choice(pattern.get("status", ""), _STATES, f"{pattern_at}.status")
        if codes is not None and conditions:
            message = "specifying both OnExitCodes and OnPodConditions is not supported"
            found.append(FieldError(ErrorType.INVALID, where, detail=message))
        elif codes is None and not conditions:
            message = "specifying one of OnExitCodes and OnPodConditions is required"
            found.append(FieldError(ErrorType.INVALID, where, detail=message))
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
        message = "must be one of the container or initContainer names in the pod template"
        found.append(invalid(f"{at}.containerName", name, message))
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


def _success_policy(rules: Sequence[Mapping[str, Any]], spec: KubeObject, at: str) -> Errors:
    completions = spec.get("completions", 0)
    found: Errors = []
    if not rules:
        message = "at least one rules must be specified when the successPolicy is specified"
        found.append(required(at, message))
    if len(rules) > _MOST_RULES:
        found.append(too_many(at, len(rules), _MOST_RULES))
    for index, rule in enumerate(rules):
        count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
        total = 0
        if count is None and indexes is None:
            message = "at least one of succeededCount or succeededIndexes must be specified"
            found.append(required(f"{at}[{index}]", message))
        if indexes is not None:
            where = f"{at}[{index}].succeededIndexes"
            if len(indexes) > _MAX_INDEXES_LENGTH:
                found.append(too_long(where, _MAX_INDEXES_LENGTH))
            try:
                total = count_indexes(indexes, completions)
            except WrongIndexesError as error:
                found.append(invalid(where, indexes, f"error parsing succeededIndexes: {error}"))
        if count is None:
            continue
        where, message = f"{at}[{index}].succeededCount", "must be less than or equal to"
        found += nonnegative(count, where)
        if count > completions:
            text = f"{message} {completions} (the number of specified completions)"
            found.append(invalid(where, count, text))
        if indexes is not None and count > total:
            text = (
                f"{message} {total} (the number of indexes in the specified succeededIndexes field)"
            )
            found.append(invalid(where, count, text))
    return found
