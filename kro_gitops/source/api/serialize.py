"""
`SourceSpec` → the spec of a `GitSource`; what has its default is left out.

The other way round from `source.spec_reading`, for sources that begin on a command line.
"""

from collections.abc import Mapping
from typing import Any

from kro_gitops.source.api.types import Allow, Brake, IgnoreRule, Notification, SourceSpec, Tracking
from kube_cel.time_formats import SECOND
from kube_objects.go_numbers import format_duration

_Part = dict[str, Any]


def write_spec(spec: SourceSpec) -> dict[str, Any]:
    """Return the spec of an object that says the same."""
    return _without_defaults(_written(spec), _written(SourceSpec(spec.url)))


def _written(spec: SourceSpec) -> _Part:
    """Return every field, `None` where there is nothing to say."""
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
        **_care(spec),
        **_company(spec),
    }


def _care(spec: SourceSpec) -> _Part:
    verify = spec.verify
    return {
        "verify": verify and {"mode": verify.mode.value, "secretRef": _secret(verify.secret)},
        "prune": spec.prune,
        "maxPrune": _brake(spec.brake),
        "allowEmpty": spec.allows_empty,
        "deletionPolicy": spec.deletion_policy.value,
        "drift": {"mode": spec.drift.value, "ignore": list(map(_rule, spec.ignore_differences))},
        "adopt": spec.adopt,
        "force": spec.force,
        "wait": spec.wait,
        "healthTimeout": duration_text(spec.health_timeout),
        "allow": _allow(spec.allow),
        "serviceAccountName": spec.service_account,
    }


def _company(spec: SourceSpec) -> _Part:
    webhook, pin = spec.webhook, spec.pin
    return {
        "dependsOn": [{"name": each.name, "namespace": each.namespace} for each in spec.depends_on],
        "tracking": _tracking(spec.tracking),
        "notifications": list(map(_notification, spec.notifications)),
        "webhook": webhook
        and _filled(secretRef=_secret(webhook.secret), forge=webhook.forge and webhook.forge.value),
        "pin": pin
        and _filled(commit=pin.commit, reason=pin.reason, expires=pin.expires, by=pin.by),
    }


def _without_defaults(written: _Part, defaults: Mapping[str, Any]) -> _Part:
    """Leave out what would be the same if it were not written; the URL is always."""
    return {
        name: value
        for name, value in written.items()
        if name == "url" or (value != defaults[name] and value not in ("", None, [], {}))
    }


def _filled(**fields: Any) -> _Part:
    return {name: value for name, value in fields.items() if value not in ("", None, [])}


def _secret(name: str) -> _Part | None:
    return {"name": name} if name else None


def _brake(brake: Brake) -> _Part:
    return {"percent": int(brake.percent), "count": brake.count}


def _rule(rule: IgnoreRule) -> _Part:
    target = _filled(group=rule.group, kind=rule.kind, namespace=rule.namespace, name=rule.name)
    return {"paths": list(rule.pointers), **({"target": target} if target else {})}


def _allow(allow: Allow) -> _Part:
    return {
        **_filled(namespaces=list(allow.namespaces), kinds=list(allow.kinds)),
        "clusterScoped": allow.cluster_scoped,
        "rgds": allow.rgds,
        **_filled(instancesOf=list(allow.instances_of)),
    }


def _tracking(tracking: Tracking) -> _Part:
    return {
        "mode": tracking.mode.value,
        **_filled(application=tracking.application),
        "argocdNamespace": tracking.argocd_namespace,
    }


def _notification(notification: Notification) -> _Part:
    return {
        "type": notification.type.value,
        "secretRef": _secret(notification.secret),
        **_filled(events=list(notification.events)),
    }


def duration_text(seconds: float) -> str:
    """Print a duration as people write it: `1m30s`, `5m`, `500ms`; nothing below a millisecond."""
    text = format_duration(round(seconds * 1000) * (SECOND // 1000))
    for zero in ("m0s", "h0m"):
        if text.endswith(zero):
            text = text[:-2]
    return text
