"""
The spec of a `GitSource` → `SourceSpec`, and back.

An object from a cluster has passed its CRD, one from a command line has not, and one that was
stored under another version of the CRD may not pass this one: so all are validated against the
schema again. Callers get either a valid spec, or every problem in one error.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from kro_gitops.errors import UserError
from kro_gitops.source.api.resources import GIT_SOURCE_SCHEMA
from kro_gitops.source.api.schema import SPEC_SCHEMA
from kro_gitops.source.api.serialize import write_spec
from kro_gitops.source.api.types import (
    Allow,
    Brake,
    DeletionPolicy,
    Dependency,
    DriftMode,
    Forge,
    Notification,
    NotificationType,
    ObjectPin,
    Pin,
    Provider,
    SourceSpec,
    Tracking,
    TrackingMode,
    Verify,
    VerifyMode,
    WantedRef,
    Webhook,
)
from kro_gitops.source.api.url_policy import check_path
from kro_gitops.source.api.validate import INVALID, Defaults, check_spec, seconds
from kro_gitops.tracking.ignored_fields import IgnoreRule
from kube_cel.validation_rules import check_rules
from kube_objects.defaulting import apply_defaults
from kube_objects.problems import Problem
from kube_objects.refs import KubeObject, ObjectRef
from kube_objects.validation import Checks, validate

__all__ = ["Defaults", "InvalidSourceError", "read_spec", "write_spec"]

_Part = dict[str, Any]

# After these the spec may not have the shape that further checks count on.
_SHAPE = frozenset(("missing-field", "wrong-type", "duplicate-item"))
_CHECKS = Checks(rules=check_rules)


class InvalidSourceError(UserError):
    """An invalid spec, with every problem found."""

    def __init__(self, source: ObjectRef, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        if len(self.problems) == 1:
            message, hint = self.problems[0].summary, self.problems[0].hint
        else:
            message, hint = "; ".join(each.full_text for each in self.problems), ""
        super().__init__(INVALID, f"{source}: {message}", hint=hint)


def read_spec(obj: KubeObject, defaults: Defaults) -> SourceSpec:
    """Return the spec of a source; raise `InvalidSourceError` with every problem."""
    source = ObjectRef.of(obj)
    looked_at = {name: part for name, part in obj.items() if name != "status"}
    # Our rules have messages that name the remedy: the expression adds nothing.
    problems = [
        replace(problem, hint="") if problem.code == "rule-violated" else problem
        for problem in validate(looked_at, GIT_SOURCE_SCHEMA, _CHECKS)
    ]
    if any(each.code in _SHAPE for each in problems):
        raise InvalidSourceError(source, problems)
    spec = apply_defaults(obj["spec"], SPEC_SCHEMA, whole=False)
    own = list(check_spec(source, spec, defaults))
    reported = {each.spot.path for each in own}  # in better words than a pattern's
    problems = [*(each for each in problems if each.spot.path not in reported), *own]
    if problems:
        raise InvalidSourceError(source, problems)
    return _spec(spec, source.namespace, defaults)


def _spec(spec: _Part, namespace: str, defaults: Defaults) -> SourceSpec:
    ref, drift = spec.get("ref", {}), spec.get("drift", {})
    verify, brake = spec.get("verify"), spec.get("maxPrune")
    tracking, webhook = spec.get("tracking"), spec.get("webhook")
    paths = tuple(dict.fromkeys(map(check_path, spec.get("paths", []))))
    return SourceSpec(
        url=spec["url"],
        ref=WantedRef(
            **{name: text for name, text in ref.items() if name != "semverFilter"},
            semver_filter=ref.get("semverFilter", ""),
        ),
        paths=() if "" in paths else paths,  # the repository itself includes all others
        ignore=spec.get("ignore", ""),
        interval=seconds(spec["interval"]),
        timeout=seconds(spec["timeout"]),
        suspend=spec["suspend"],
        provider=Provider(spec["provider"]),
        secret=_secret(spec),
        proxy_secret=_secret(spec, "proxySecretRef"),
        filters_blobs=spec["blobFilter"],
        verify=verify and Verify(VerifyMode(verify["mode"]), _secret(verify)),
        prune=spec["prune"],
        brake=Brake(float(brake["percent"]), brake["count"]) if brake is not None else Brake(),
        allows_empty=spec["allowEmpty"],
        deletion_policy=DeletionPolicy(spec["deletionPolicy"]),
        drift=DriftMode(drift.get("mode", DriftMode.CORRECT)),
        ignore_differences=tuple(
            IgnoreRule(tuple(rule["paths"]), **rule.get("target", {}))
            for rule in drift.get("ignore", [])
        ),
        adopt=spec["adopt"],
        force=spec["force"],
        wait=spec["wait"],
        health_timeout=seconds(spec["healthTimeout"]),
        allow=_allow(spec["allow"]) if "allow" in spec else Allow(),
        service_account=spec.get("serviceAccountName", defaults.default_service_account),
        depends_on=tuple(
            Dependency(other.get("namespace", namespace), other["name"])
            for other in spec.get("dependsOn", [])
        ),
        tracking=Tracking(
            TrackingMode(tracking["mode"]),
            tracking.get("application", ""),
            tracking["argocdNamespace"],
        )
        if tracking is not None
        else Tracking(),
        notifications=tuple(
            Notification(
                _secret(each), NotificationType(each["type"]), tuple(each.get("events", ()))
            )
            for each in spec.get("notifications", [])
        ),
        webhook=webhook
        and Webhook(_secret(webhook), Forge(webhook["forge"]) if "forge" in webhook else None),
        pin=Pin(**spec["pin"]) if "pin" in spec else None,
        pins=tuple(ObjectPin(**each) for each in spec.get("pins", [])),
    )


def _secret(part: _Part, field: str = "secretRef") -> str:
    name: str = part[field]["name"] if field in part else ""
    return name


def _allow(allow: _Part) -> Allow:
    return Allow(
        namespaces=tuple(allow.get("namespaces", ())),
        kinds=tuple(allow.get("kinds", ())),
        cluster_scoped=allow["clusterScoped"],
        rgds=allow["rgds"],
        instances_of=tuple(allow.get("instancesOf", ())),
    )
