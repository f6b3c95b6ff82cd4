"""
`SourceSpec` → the spec of a `GitSource`; what has its default is left out.

The inverse of `source.api.parse`, for sources that begin on a command line.
"""

from dataclasses import asdict
from typing import Any

from kro_gitops.source.api.types import SourceSpec
from kro_gitops.tracking.ignored_fields import IgnoreRule
from kube_cel.time_formats import SECOND
from kube_objects.go_numbers import format_duration

_Part = dict[str, Any]


def write_spec(spec: SourceSpec) -> dict[str, Any]:
    """Return the spec of an object that parses to the same."""
    defaults = _all_fields(SourceSpec(spec.url))
    return {
        name: value
        for name, value in _all_fields(spec).items()
        if name == "url" or (value != defaults[name] and value not in ("", None, [], {}))
    }


def _all_fields(spec: SourceSpec) -> _Part:
    """Return every field; unset ones are empty or `None`."""
    verify, allow, tracking = spec.verify, spec.allow, spec.tracking
    webhook, pin = spec.webhook, spec.pin
    return {
        "url": spec.url,
        "ref": _filled(
            branch=spec.ref.branch,
            tag=spec.ref.tag,
            semver=spec.ref.semver,
            semverFilter=spec.ref.semver_filter,
            name=spec.ref.name,
            commit=spec.ref.commit,
        ),
        "paths": list(spec.paths),
        "ignore": spec.ignore,
        "interval": duration_text(spec.interval),
        "timeout": duration_text(spec.timeout),
        "suspend": spec.suspend,
        "provider": spec.provider.value,
        "secretRef": _secret(spec.secret),
        "proxySecretRef": _secret(spec.proxy_secret),
        "blobFilter": spec.filters_blobs,
        "verify": verify and {"mode": verify.mode.value, "secretRef": _secret(verify.secret)},
        "prune": spec.prune,
        "maxPrune": {"percent": int(spec.brake.percent), "count": spec.brake.count},
        "allowEmpty": spec.allows_empty,
        "deletionPolicy": spec.deletion_policy.value,
        "drift": {"mode": spec.drift.value, "ignore": list(map(_rule, spec.ignore_differences))},
        "adopt": spec.adopt,
        "force": spec.force,
        "wait": spec.wait,
        "healthTimeout": duration_text(spec.health_timeout),
        "allow": {
            **_filled(namespaces=list(allow.namespaces), kinds=list(allow.kinds)),
            "clusterScoped": allow.cluster_scoped,
            "rgds": allow.rgds,
            **_filled(instancesOf=list(allow.instances_of)),
        },
        "serviceAccountName": spec.service_account,
        "dependsOn": [{"name": each.name, "namespace": each.namespace} for each in spec.depends_on],
        "tracking": {
            "mode": tracking.mode.value,
            **_filled(application=tracking.application),
            "argocdNamespace": tracking.argocd_namespace,
        },
        "notifications": [
            {
                "type": each.type.value,
                "secretRef": _secret(each.secret),
                **_filled(events=list(each.events)),
            }
            for each in spec.notifications
        ],
        "webhook": webhook
        and _filled(secretRef=_secret(webhook.secret), forge=webhook.forge and webhook.forge.value),
        "pin": pin
        and _filled(commit=pin.commit, reason=pin.reason, expires=pin.expires, by=pin.by),
        "pins": [_filled(**asdict(each)) for each in spec.pins],
    }


def _filled(**fields: Any) -> _Part:
    return {name: value for name, value in fields.items() if value not in ("", None, [])}


def _secret(name: str) -> _Part | None:
    return {"name": name} if name else None


def _rule(rule: IgnoreRule) -> _Part:
    target = _filled(group=rule.group, kind=rule.kind, namespace=rule.namespace, name=rule.name)
    return {"paths": list(rule.pointers), **({"target": target} if target else {})}


def duration_text(seconds: float) -> str:
    """Print a duration as people write it: `1m30s`, `5m`, `500ms`; nothing below a millisecond."""
    text = format_duration(round(seconds * 1000) * (SECOND // 1000))
    for zero in ("m0s", "h0m"):
        if text.endswith(zero):
            text = text[:-2]
    return text
