"""
Every option of a controller, in one table.

A row says all there is to know: flag, what it may be, default, what it does. Names of environment
variables, the help and the reference page follow from it; nothing is said twice.

kro's flags keep their names and meanings, so that its manifests work as they are. Those that mean
nothing here are accepted all the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from kro_gitops.settings.gates import OMIT_GATE
from kro_gitops.settings.tracking_options import INSTANCE_LABEL, Method, Mode
from kro_gitops.settings.values import (
    ADDRESS,
    BOOLEAN,
    COUNT,
    DURATION,
    FILE,
    FOLDER,
    HOST,
    INTEGER,
    LABEL_KEY,
    LASTING,
    LIST,
    NAME,
    NAMESPACE,
    NATURAL,
    OUTCOMES_BY_IMAGE,
    PATTERNS,
    PORT,
    RATE,
    TEXT,
    VERSION,
    Values,
    gates,
    one_of,
)

PREFIX = "KRO_GITOPS_"


class Gate(StrEnum):
    """kro's feature gates; all of them are alpha, so all are off unless they are switched on."""

    OMIT = OMIT_GATE
    CONDITION_EVENTS = "InstanceConditionEvents"
    CONDITION_METRICS = "InstanceConditionMetrics"


class LogFormat(StrEnum):
    """How a log record is written; `auto` depends on whether somebody sits at a terminal."""

    AUTO = "auto"
    CONSOLE = "console"
    JSON = "json"


class LogLevel(StrEnum):
    """The least important record that is still written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class AdoptionPolicy(StrEnum):
    """What a child's first apply does with an object that somebody else made."""

    REFUSE = "refuse"
    ADOPT = "adopt"


class Group(StrEnum):
    """Where an option stands in the help; the names are its headings."""

    CLUSTER = "cluster"
    EMBEDDED = "embedded API, where no cluster is named"
    SOURCES = "sources"
    ENGINE = "engine"
    ELECTION = "leader election"
    PROCESS = "process"
    KRO = "kro's flags that have no effect"


@dataclass(frozen=True, slots=True)
class Option:
    """One option; `aliases` are other names of the same flag."""

    group: Group
    flag: str
    values: Values
    default: str
    help: str
    aliases: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the flag and its other names, as they are typed."""
        return tuple(f"--{name}" for name in (self.flag, *self.aliases))

    @property
    def negation(self) -> str:
        """Return the flag that switches off what is on by default."""
        return f"--no-{self.flag}" if self.is_switch and self.default == "true" else ""

    @property
    def variables(self) -> tuple[str, ...]:
        """Return the environment variables that are read, one for each name."""
        names = (self.flag, *self.aliases)
        return tuple(PREFIX + name.upper().replace("-", "_") for name in names)

    @property
    def field(self) -> str:
        """Return the name in `Settings`; empty for what is ignored."""
        return "" if self.is_ignored else self.flag.replace("-", "_")

    @property
    def is_switch(self) -> bool:
        """Say whether the flag alone means true."""
        return self.values is BOOLEAN

    @property
    def is_ignored(self) -> bool:
        """Say whether it is accepted only because kro has it."""
        return self.group is Group.KRO


_Row = tuple[str, Values, str, str] | tuple[str, Values, str, str, tuple[str, ...]]

_LEVELS_OF_ZAP = {
    "warn": LogLevel.WARNING,
    **dict.fromkeys(("dpanic", "panic", "fatal"), LogLevel.ERROR),
    **dict.fromkeys(map(str, range(1, 129)), LogLevel.DEBUG),
}

_TABLE: Mapping[Group, tuple[_Row, ...]] = {
    Group.CLUSTER: (
        ("kubeconfig", FILE, "", "the kubeconfig of the cluster; KUBECONFIG is not read"),
        (
            "context",
            NAME,
            "",
            "the context of the kubeconfig; without --kubeconfig, of the files kubectl reads",
        ),
        ("in-cluster", BOOLEAN, "false", "use the service account of the pod this runs in"),
        ("client-qps", RATE, "0", "the most requests per second to the API server; 0: no limit"),
        (
            "client-burst",
            NATURAL,
            "0",
            "requests that may be sent at once with --client-qps; 0: as many as in a second",
        ),
    ),
    Group.EMBEDDED: (
        (
            "data-dir",
            FOLDER,
            "",
            "the folder of its store, keys and kubeconfig; by default kro-gitops in XDG_DATA_HOME, "
            "which is ~/.local/share unless it is set",
        ),
        (
            "ephemeral",
            BOOLEAN,
            "false",
            "begin with an empty cluster, or with --snapshot, and keep nothing of it",
        ),
        (
            "snapshot",
            FILE,
            "",
            "begin with what a file of `kro-gitops snapshot save` holds; without --ephemeral only "
            "in a folder that has no store yet",
        ),
        ("embedded-host", HOST, "127.0.0.1", "the address where it is served"),
        ("embedded-port", PORT, "0", "the port where it is served; 0: any that is free"),
        (
            "embedded-workloads",
            BOOLEAN,
            "true",
            "let workloads fare as in a cluster: Deployments get Pods, and Pods become ready",
        ),
        (
            "embedded-step",
            DURATION,
            "1s",
            "how long each step of a workload takes: to be scheduled, to start, to end; 0: no time",
        ),
        (
            "embedded-outcome",
            OUTCOMES_BY_IMAGE,
            "",
            "how the pods of an image fare; without a tag, of all its tags; may be repeated, or a "
            "list with commas",
        ),
    ),
    Group.SOURCES: (
        ("sources", BOOLEAN, "true", "follow git repositories: work on GitSource objects"),
        (
            "repo",
            TEXT,
            "",
            "a repository to follow, its URL or a folder here; it becomes a GitSource that may do "
            "everything",
        ),
        ("branch", NAME, "", "the branch of --repo; by default the one its HEAD points at"),
        ("tag", NAME, "", "a tag of --repo, in place of a branch"),
        ("semver", TEXT, "", "a range of versions: the highest tag of --repo in it is followed"),
        ("commit", NAME, "", "a commit of --repo to stay at"),
        ("path", LIST, "", "folders of --repo to read, with commas; by default all"),
        ("repo-interval", LASTING, "1m", "how often --repo is asked for something new"),
        ("repo-secret", NAME, "", "the Secret to log in to --repo with, in --repo-namespace"),
        ("repo-name", NAME, "repo", "the name of the GitSource that --repo makes"),
        ("repo-namespace", NAMESPACE, "default", "the namespace of the GitSource of --repo"),
        (
            "default-service-account",
            NAME,
            "",
            "act as this account, of the source's namespace, for sources that name none; "
            "without it they act as the controller",
        ),
        (
            "no-cross-namespace-refs",
            BOOLEAN,
            "false",
            "let sources depend on sources of their own namespace only",
        ),
        ("watch-namespaces", LIST, "", "the namespaces whose sources are followed; empty: all"),
        (
            "allow-private-networks",
            BOOLEAN,
            "false",
            "let repositories be at loopback and private addresses",
        ),
        ("allow-plain-http", BOOLEAN, "false", "let repositories have http:// URLs"),
        ("allowed-git-hosts", LIST, "", "the only hosts that repositories may be at; empty: any"),
        (
            "webhook-bind-address",
            ADDRESS,
            "0",
            "where to listen for webhooks of git servers; 0: nowhere",
        ),
        (
            "storage-path",
            FILE,
            "",
            "the folder for what is fetched; by default a temporary one that goes with the process",
        ),
        ("source-concurrent-reconciles", COUNT, "4", "how many sources are worked on at once"),
    ),
    Group.ENGINE: (
        (
            "install-crds",
            BOOLEAN,
            "true",
            "create or update the CRDs that are needed at the start: ResourceGraphDefinition, "
            "GraphRevision, GitSource and SourceInventory",
        ),
        ("kro-version", VERSION, "v0.9.4", "the version of kro to stand in for, as labels name it"),
        (
            "allow-crd-deletion",
            BOOLEAN,
            "false",
            "delete the CRD of a definition together with it, and so all instances",
        ),
        (
            "adoption-policy",
            one_of(AdoptionPolicy),
            "refuse",
            "what to do when a child's first apply finds an object that somebody else made: "
            "refuse to touch it, or adopt it",
        ),
        (
            "tracking-mode",
            one_of(Mode),
            "follow",
            "follow: children carry the Argo CD tracking id of their instance, if it has one; "
            "native: they never do",
        ),
        (
            "argocd-tracking-method",
            one_of(Method),
            "annotation",
            "Argo CD's application.resourceTrackingMethod",
        ),
        (
            "argocd-label-key",
            LABEL_KEY,
            INSTANCE_LABEL,
            "the label Argo CD tracks by: its application.instanceLabelKey",
        ),
        (
            "propagate-labels",
            PATTERNS,
            "*",
            "labels of an instance that its children get: patterns with commas between them, "
            "or none",
        ),
        ("evaluation-limit", LASTING, "50ms", "how long one CEL expression may take"),
        ("events", BOOLEAN, "true", "report what happens as Kubernetes Events"),
        ("feature-gates", gates(Gate), "", "switch kro's feature gates on or off"),
        ("rgd-max-collection-size", COUNT, "1000", "the most objects that one forEach may make"),
        (
            "rgd-max-collection-dimension-size",
            COUNT,
            "10",
            "the most dimensions that one forEach may have",
        ),
        (
            "rgd-max-graph-revisions",
            INTEGER,
            "5",
            "how many revisions of a definition are kept; 0 or less: all",
        ),
        (
            "rgd-progress-requeue-delay",
            DURATION,
            "3s",
            "when to look again at a definition that waits for something; a change wakes it sooner",
        ),
        (
            "instance-requeue-interval",
            DURATION,
            "3s",
            "when to look again at an instance that waits for something; a change wakes it "
            "sooner, and 0 means only then",
        ),
        (
            "resource-graph-definition-concurrent-reconciles",
            COUNT,
            "8",
            "how many definitions are worked on at once",
        ),
        (
            "graph-revision-concurrent-reconciles",
            COUNT,
            "8",
            "how many graph revisions are worked on at once",
        ),
        (
            "dynamic-controller-concurrent-reconciles",
            COUNT,
            "16",
            "how many instances are worked on at once",
        ),
        (
            "dynamic-controller-rate-limiter-min-delay",
            LASTING,
            "200ms",
            "the wait after a first failure; it doubles with each further one",
        ),
        (
            "dynamic-controller-rate-limiter-max-delay",
            LASTING,
            "1000s",
            "the longest wait after a failure; retries never end",
        ),
    ),
    Group.ELECTION: (
        ("leader-elect", BOOLEAN, "false", "let one of several replicas be active at a time"),
        (
            "leader-election-namespace",
            NAMESPACE,
            "",
            "the namespace of the Lease; by default that of the pod",
        ),
        (
            "leader-election-lease-duration",
            LASTING,
            "15s",
            "how long other replicas wait for a leader that is silent",
        ),
        (
            "leader-election-renew-deadline",
            LASTING,
            "10s",
            "how long a leader tries to renew before it steps down",
        ),
        ("leader-election-retry-period", LASTING, "2s", "the pause between two tries"),
        (
            "enable-controller-warmup",
            BOOLEAN,
            "false",
            "fill caches before the election is won, so that a new leader starts at once",
        ),
    ),
    Group.PROCESS: (
        (
            "once",
            BOOLEAN,
            "false",
            "end when all sources, definitions and instances are ready, or cannot become so; the "
            "exit code says which",
        ),
        ("timeout", LASTING, "2m", "how long --once waits for it"),
        (
            "metrics-bind-address",
            ADDRESS,
            ":8078",
            "where to serve /metrics; 0: nowhere, as with the embedded API unless it is given",
        ),
        (
            "health-probe-bind-address",
            ADDRESS,
            ":8079",
            "where to serve /healthz and /readyz; 0: nowhere, as with the embedded API unless it "
            "is given",
        ),
        (
            "graceful-shutdown-timeout",
            DURATION,
            "60s",
            "how long work in progress may take to end after a signal to stop",
        ),
        (
            "log-format",
            one_of(LogFormat),
            "auto",
            "how to write logs; auto: for people on a terminal, JSON elsewhere",
            ("zap-encoder",),
        ),
        (
            "log-level",
            one_of(LogLevel, _LEVELS_OF_ZAP),
            "info",
            "the least important messages to log; zap's words and numbers are understood",
            ("zap-log-level",),
        ),
    ),
    Group.KRO: (
        ("zap-devel", BOOLEAN, "false", "use --log-format and --log-level"),
        ("zap-stacktrace-level", TEXT, "", "unexpected errors always come with a traceback"),
        ("zap-time-encoding", TEXT, "", "times are RFC 3339"),
        ("pprof-bind-address", TEXT, "", "there is no Go profile to serve"),
        (
            "dynamic-controller-rate-limiter-rate-limit",
            INTEGER,
            "0",
            "instances do not share a budget of retries",
        ),
        (
            "dynamic-controller-rate-limiter-burst-limit",
            INTEGER,
            "0",
            "instances do not share a budget of retries",
        ),
        (
            "dynamic-controller-default-resync-period",
            INTEGER,
            "0",
            "watches miss nothing, so nothing is listed again by the clock",
        ),
        (
            "dynamic-controller-default-queue-max-retries",
            INTEGER,
            "0",
            "nothing is dropped: retries get rarer, and never end",
        ),
    ),
}

OPTIONS: tuple[Option, ...] = tuple(
    Option(group, *row) for group, rows in _TABLE.items() for row in rows
)
