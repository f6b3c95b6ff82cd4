"""
What a source wants, as values: a `GitSource` object's spec, taken apart.

Times are seconds. What may be missing is empty, and what has a default has it here.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from kro_gitops.tracking.ignored_fields import IgnoreRule


class DriftMode(StrEnum):
    """What the controller does with drift."""

    CORRECT = "correct"
    WARN = "warn"
    IGNORE = "ignore"


class DeletionPolicy(StrEnum):
    """What happens to the objects when their source is deleted; the values are Flux's."""

    MIRROR_PRUNE = "MirrorPrune"  # as `prune` says
    DELETE = "Delete"
    WAIT = "WaitForTermination"
    ORPHAN = "Orphan"


class VerifyMode(StrEnum):
    """Whose signature must be good."""

    HEAD = "HEAD"
    TAG = "Tag"
    TAG_AND_HEAD = "TagAndHEAD"


class TrackingMode(StrEnum):
    """What of Argo CD's marks our objects carry."""

    FOLLOW = "follow"
    NATIVE = "native"
    BRIDGE = "bridge"


class Provider(StrEnum):
    """How to log in where an ordinary secret is not all."""

    GENERIC = "generic"
    GITHUB = "github"


class Forge(StrEnum):
    """Who calls a webhook."""

    GITHUB = "github"
    GITEA = "gitea"  # Forgejo and Gogs, too
    GITLAB = "gitlab"
    BITBUCKET = "bitbucket"
    BITBUCKET_SERVER = "bitbucket-server"
    AZURE = "azure"
    GENERIC = "generic"


class NotificationType(StrEnum):
    """How a message is written."""

    GENERIC = "generic"
    SLACK = "slack"
    TEAMS = "teams"


class NotificationEvent(StrEnum):
    """The events of a source that a notification may select."""

    SYNCED = "Synced"  # everything of a new revision was applied
    HEALTHY = "Healthy"  # and is ready
    RECOVERED = "Recovered"  # all is well again, after it was not
    DEGRADED = "Degraded"  # applied, but broken or not ready in time
    FAILED = "Failed"  # something could not be applied
    FETCH_FAILED = "FetchFailed"
    UNVERIFIED = "Unverified"  # a signature is missing or not trusted
    PRUNE_BLOCKED = "PruneBlocked"
    FOREIGN_OWNER = "ForeignOwner"
    CONFLICT = "Conflict"
    HISTORY_REWRITTEN = "HistoryRewritten"  # the branch was forced
    PINNED = "Pinned"
    UNPINNED = "Unpinned"
    SUSPENDED = "Suspended"
    RESUMED = "Resumed"


@dataclass(frozen=True, slots=True)
class WantedRef:
    """Which revision; of several, the later field here wins. None: the remote's HEAD."""

    branch: str = ""
    tag: str = ""
    semver: str = ""
    semver_filter: str = ""  # a regular expression for tags
    name: str = ""  # a full ref, refs/pull/7/head say
    commit: str = ""  # with a branch: one that is in it


@dataclass(frozen=True, slots=True)
class Verify:
    """Whose signatures are asked for; the secret holds `*.asc` and `*.sshpub` keys."""

    mode: VerifyMode
    secret: str


@dataclass(frozen=True, slots=True)
class Brake:
    """More deletions at once than this are held back: both numbers must be exceeded."""

    percent: float = 30.0
    count: int = 5


@dataclass(frozen=True, slots=True)
class Allow:
    """What a source may touch beside its own namespace; globs."""

    namespaces: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()  # `Kind.group`, `Kind` in the core group; empty: any
    cluster_scoped: bool = False
    rgds: bool = False
    instances_of: tuple[str, ...] = ()  # `Kind.group` of generated kinds; empty: any


EVERYTHING = Allow(("*",), ("*",), cluster_scoped=True, rgds=True, instances_of=("*",))


@dataclass(frozen=True, slots=True)
class Tracking:
    """Argo CD beside us: `application` is the Application that shall show our objects."""

    mode: TrackingMode = TrackingMode.FOLLOW
    application: str = ""  # NAME, or NAMESPACE/NAME
    argocd_namespace: str = "argocd"


@dataclass(frozen=True, slots=True)
class Dependency:
    """Another source that must be ready first."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Notification:
    """Whom to tell: the secret holds `address`, and `token` to sign with."""

    secret: str
    type: NotificationType = NotificationType.GENERIC
    events: tuple[str, ...] = ()  # empty: all


@dataclass(frozen=True, slots=True)
class Webhook:
    """Who may call to have a source polled at once; the secret holds `token`."""

    secret: str
    forge: Forge | None = None  # None: the headers name it


@dataclass(frozen=True, slots=True)
class Pin:
    """A commit to stay at, against what the ref says."""

    commit: str
    reason: str = ""
    expires: str = ""  # RFC 3339; empty: never
    by: str = ""


@dataclass(frozen=True, slots=True)
class ObjectPin:
    """An object that stays as one commit has it; everything else follows the ref."""

    kind: str
    name: str
    commit: str
    group: str = ""
    namespace: str = ""  # empty: the source's, or none for objects outside namespaces
    reason: str = ""
    expires: str = ""  # RFC 3339; empty: never
    by: str = ""

    @property
    def subject(self) -> str:
        """Return the object as people name it: `WebApp shop/front`."""
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {place}"


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """All that a source wants."""

    url: str
    ref: WantedRef = field(default_factory=WantedRef)
    paths: tuple[str, ...] = ()  # folders or files; empty: all
    ignore: str = ""  # gitignore patterns, one a line
    interval: float = 60.0
    timeout: float = 60.0
    suspend: bool = False
    provider: Provider = Provider.GENERIC
    secret: str = ""
    proxy_secret: str = ""
    filters_blobs: bool = False
    verify: Verify | None = None
    prune: bool = True
    brake: Brake = field(default_factory=Brake)
    allows_empty: bool = False
    deletion_policy: DeletionPolicy = DeletionPolicy.MIRROR_PRUNE
    drift: DriftMode = DriftMode.CORRECT
    ignore_differences: tuple[IgnoreRule, ...] = ()
    adopt: bool = False
    force: bool = False  # recreate what cannot be changed
    wait: bool = True  # ready only when what was applied is
    health_timeout: float = 300.0
    allow: Allow = field(default_factory=Allow)
    service_account: str = ""
    depends_on: tuple[Dependency, ...] = ()
    tracking: Tracking = field(default_factory=Tracking)
    notifications: tuple[Notification, ...] = ()
    webhook: Webhook | None = None
    pin: Pin | None = None
    pins: tuple[ObjectPin, ...] = ()
