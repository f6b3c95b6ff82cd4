"""
The schema of a `GitSource`'s spec.

What can be rejected before anything is fetched is rejected here, with messages that name the
remedy; `source.api.validate` checks what a schema cannot.
"""

from kro_gitops.source.api.schema_parts import (
    COUNT,
    TIME,
    Schema,
    duration,
    flag,
    record,
    ruled,
    sequence,
    text,
    unique,
    word,
)
from kro_gitops.source.api.types import (
    DeletionPolicy,
    DriftMode,
    Forge,
    NotificationEvent,
    NotificationType,
    Provider,
    TrackingMode,
    VerifyMode,
)

COMMIT = "^([0-9a-f]{40}|[0-9a-f]{64})$"
SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
LABEL = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_APPLICATION = f"^({LABEL[1:-1]}/)?{SUBDOMAIN[1:-1]}$"


_SECRET = record({"name": text(253, pattern=SUBDOMAIN)}, "name")

# Rules of the whole spec, not of the field: the API server repeats a text that breaks a rule of its
# own, and this one may hold a password.
_URL_RULES = (
    (
        "self.url.matches('^(https|http|ssh)://[^/]+/.+$') || self.url.matches('^file:///.+$')",
        "url must be https://HOST/PATH, http://HOST/PATH, ssh://USER@HOST/PATH or file:///PATH; "
        "git@HOST:PATH is written ssh://git@HOST/PATH",
    ),
    (
        "!self.url.matches('[[:space:][:cntrl:]]')",
        "url must not contain white space or control characters",
    ),
    (
        "!self.url.matches('^(https?://[^/]*@|ssh://[^/@]*:[^/]*@)')",
        "url must not hold a user name or a password: put them into a Secret "
        "and name it in spec.secretRef",
    ),
)

_REF = ruled(
    record(
        {
            "branch": text(255),
            "tag": text(255),
            "semver": text(255),
            "semverFilter": text(255),
            "name": text(255, pattern="^refs/.+$"),
            "commit": text(64, pattern=COMMIT),
        }
    ),
    (
        "!has(self.semverFilter) || has(self.semver)",
        "semverFilter chooses among the tags of a range: set semver, too",
    ),
)

_VERIFY = ruled(
    record({"mode": word(VerifyMode, VerifyMode.HEAD), "secretRef": _SECRET}),
    ("has(self.secretRef)", "needs secretRef: the Secret with the keys that are trusted"),
)

_DRIFT = record(
    {
        "mode": word(DriftMode, DriftMode.CORRECT),
        "ignore": sequence(
            record(
                {
                    "paths": unique(text(1024, pattern="^/"), 64, minItems=1),
                    "target": record(
                        {
                            "group": text(253),
                            "kind": text(63),
                            "namespace": text(63),
                            "name": text(253),
                        }
                    ),
                },
                "paths",
            ),
            64,
        ),
    }
)

_ALLOW = record(
    {
        "namespaces": unique(text(253), 256),
        "kinds": unique(text(317), 256),
        "clusterScoped": flag(default=False),
        "rgds": flag(default=False),
        "instancesOf": unique(text(317), 256),
    }
)

_TRACKING = ruled(
    record(
        {
            "mode": word(TrackingMode, TrackingMode.FOLLOW),
            "application": text(317, pattern=_APPLICATION),
            "argocdNamespace": text(63, pattern=LABEL, default="argocd"),
        }
    ),
    (
        "self.mode != 'bridge' || has(self.application)",
        "mode bridge needs application: the Application that shall show the objects",
    ),
)

_NOTIFICATION = record(
    {
        "type": word(NotificationType, NotificationType.GENERIC),
        "secretRef": _SECRET,
        "events": unique(word(NotificationEvent), 32),
    },
    "secretRef",
)


_PIN = record(
    {
        "commit": text(64, pattern=COMMIT),
        "reason": text(1024, minLength=0),
        "expires": TIME,
        "by": text(253, minLength=0),
    },
    "commit",
)


_OBJECT_PIN = record(
    {
        "group": text(253),
        "kind": text(63),
        "namespace": text(63, pattern=LABEL),
        "name": text(253),
        **_PIN["properties"],
    },
    "kind",
    "name",
    "commit",
)


SPEC_SCHEMA: Schema = ruled(
    record(
        {
            "url": text(2048),
            "ref": _REF,
            "paths": unique(text(1024), 64),
            "ignore": text(65536, minLength=0),
            "interval": duration("1m"),
            "timeout": duration("60s"),
            "suspend": flag(default=False),
            "provider": word(Provider, Provider.GENERIC),
            "secretRef": _SECRET,
            "proxySecretRef": _SECRET,
            "blobFilter": flag(default=False),
            "verify": _VERIFY,
            "prune": flag(default=True),
            "maxPrune": record(
                {
                    "percent": {**COUNT, "maximum": 100, "default": 30},
                    "count": {**COUNT, "maximum": 1_000_000, "default": 5},
                }
            ),
            "allowEmpty": flag(default=False),
            "deletionPolicy": word(DeletionPolicy, DeletionPolicy.MIRROR_PRUNE),
            "drift": _DRIFT,
            "adopt": flag(default=False),
            "force": flag(default=False),
            "wait": flag(default=True),
            "healthTimeout": duration("5m"),
            "allow": _ALLOW,
            "serviceAccountName": text(253, pattern=SUBDOMAIN),
            "dependsOn": sequence(
                record(
                    {
                        "name": text(253, pattern=SUBDOMAIN),
                        "namespace": text(63, pattern=LABEL),
                    },
                    "name",
                ),
                64,
            ),
            "tracking": _TRACKING,
            "notifications": sequence(_NOTIFICATION, 16),
            "webhook": record({"secretRef": _SECRET, "forge": word(Forge)}, "secretRef"),
            "pin": _PIN,
            "pins": sequence(_OBJECT_PIN, 64),
        },
        "url",
    ),
    *_URL_RULES,
    (
        "self.provider != 'github' || has(self.secretRef)",
        "provider github needs secretRef: the Secret with the key of the GitHub App",
    ),
    (
        "!self.url.startsWith('ssh://') || has(self.secretRef)",
        "an ssh:// URL needs secretRef: the Secret with identity and known_hosts",
    ),
    (
        "!has(self.verify) || self.verify.mode == 'HEAD' || (has(self.ref) && "
        "(has(self.ref.tag) || has(self.ref.semver) || "
        "(has(self.ref.name) && self.ref.name.startsWith('refs/tags/'))))",
        "verify.mode Tag and TagAndHEAD need a tag: set ref.tag or ref.semver",
    ),
)
