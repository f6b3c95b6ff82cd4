"""
Every option of `kro-gitops run`, in one table.

A row has the flag, its values, its default and its help. The names of environment variables, the
help and the reference page are derived from it.

kro's flags keep their names and meanings, so that its manifests work unchanged. Those without a
meaning here are accepted and ignored.
"""

from collections.abc import Mapping

from kro_gitops.settings.option import (
    AddedFields,
    AdoptionPolicy,
    AuthorReady,
    Gate,
    Group,
    LogFormat,
    LogLevel,
    Option,
    Readiness,
)
from kro_gitops.settings.tracking_options import INSTANCE_LABEL, Method, Mode
from kro_gitops.settings.values import (
    ADDRESS,
    BOOLEAN,
    BYTES,
    COUNT,
    DURATION,
    FILE,
    FOLDER,
    HOST,
    INTEGER,
    LABEL_KEY,
    LIST,
    NAME,
    NAMESPACE,
    NATURAL,
    OUTCOMES_BY_IMAGE,
    PATTERNS,
    PORT,
    POSITIVE_DURATION,
    RATE,
    TEXT,
    VERSION,
    Values,
    gates,
    one_of,
)

_Row = tuple[str, Values, str, str] | tuple[str, Values, str, str, tuple[str, ...]]

_LEVELS_OF_ZAP = {
    "warn": LogLevel.WARNING,
    **dict.fromkeys(("dpanic", "panic", "fatal"), LogLevel.ERROR),
    **dict.fromkeys(map(str, range(1, 129)), LogLevel.DEBUG),
}

_TABLE: Mapping[Group, tuple[_Row, ...]] = {
    Group.CLUSTER: (
        ("kubeconfig", FILE, "", "kubeconfig of the cluster; KUBECONFIG is not read"),
        (
            "context",
            NAME,
            "",
            "context of the kubeconfig; without --kubeconfig, of the files that kubectl reads",
        ),
        ("in-cluster", BOOLEAN, "false", "use the service account of the pod this runs in"),
        (
            "client-qps",
            RATE,
            "0",
            "maximum number of requests per second to the API server; 0: no limit",
        ),
        (
            "client-burst",
            NATURAL,
            "0",
            "number of requests that may exceed --client-qps at once; 0: those of one second",
        ),
    ),
    Group.EMBEDDED: (
        (
            "data-dir",
            FOLDER,
            "",
            "folder of the embedded API's store, keys and kubeconfig; by default kro-gitops in "
            "XDG_DATA_HOME, which is ~/.local/share unless set",
        ),
        (
            "ephemeral",
            BOOLEAN,
            "false",
            "start with an empty cluster, or with --snapshot, and discard it at the end",
        ),
        (
            "snapshot",
            FILE,
            "",
            "start with the objects of a file of `kro-gitops snapshot save`; without --ephemeral "
            "only in a folder that has no store yet",
        ),
        ("embedded-host", HOST, "127.0.0.1", "address that the embedded API listens on"),
        ("embedded-port", PORT, "0", "port that the embedded API listens on; 0: any free port"),
        (
            "embedded-workloads",
            BOOLEAN,
            "true",
            "simulate workload controllers: Deployments create Pods, and Pods become Ready",
        ),
        (
            "embedded-step",
            DURATION,
            "1s",
            "duration of each simulated step of a Pod: scheduling, starting, ending; 0: none",
        ),
        (
            "embedded-outcome",
            OUTCOMES_BY_IMAGE,
            "",
            "simulated outcome for Pods of an image; without a tag, for all its tags; may be "
            "repeated, or a list with commas",
        ),
    ),
    Group.SOURCES: (
        ("sources", BOOLEAN, "true", "reconcile GitSource objects"),
        (
            "repo",
            TEXT,
            "",
            "repository to reconcile, a URL or a local folder; a GitSource without restrictions "
            "is created for it",
        ),
        ("branch", NAME, "", "branch of --repo; by default the one its HEAD points at"),
        ("tag", NAME, "", "tag of --repo, instead of a branch"),
        ("semver", TEXT, "", "range of versions: the highest tag of --repo in it is used"),
        ("commit", NAME, "", "commit of --repo to pin"),
        ("path", LIST, "", "folders of --repo to read, with commas; by default all"),
        (
            "repo-interval",
            POSITIVE_DURATION,
            "1m",
            "interval between two fetches of --repo; without this flag 2s for a local folder",
        ),
        ("repo-secret", NAME, "", "Secret with the credentials for --repo, in --repo-namespace"),
        ("repo-name", NAME, "repo", "name of the GitSource that is created for --repo"),
        (
            "repo-namespace",
            NAMESPACE,
            "default",
            "namespace of the GitSource that is created for --repo",
        ),
        (
            "default-service-account",
            NAME,
            "",
            "impersonate this service account for sources that name none, in the source's "
            "namespace, and for instances without a source, in the instance's namespace; without "
            "it both use the controller's permissions",
        ),
        (
            "instances-own-namespace-only",
            BOOLEAN,
            "false",
            "reject children outside of the instance's namespace for instances without a source; "
            "for others spec.allow of the source decides",
        ),
        (
            "no-cross-namespace-refs",
            BOOLEAN,
            "false",
            "reject dependencies on sources of other namespaces",
        ),
        ("watch-namespaces", LIST, "", "namespaces whose sources are reconciled; empty: all"),
        (
            "allow-private-networks",
            BOOLEAN,
            "false",
            "allow repositories at loopback and private addresses",
        ),
        ("allow-plain-http", BOOLEAN, "false", "allow repositories with http:// URLs"),
        ("allowed-git-hosts", LIST, "", "the only hosts that repositories may be at; empty: any"),
        (
            "webhook-bind-address",
            ADDRESS,
            "0",
            "address to serve webhooks of git servers at; 0: none",
        ),
        (
            "storage-path",
            FILE,
            "",
            "folder for fetched repositories; by default a temporary one that is removed at exit",
        ),
        (
            "storage-size",
            BYTES,
            "2Gi",
            "size of the volume for fetched repositories: they use at most 7/8 of it, those of one "
            "namespace half of that, and the least recently used are deleted first; 0: no limit",
        ),
        (
            "source-documents",
            COUNT,
            "100000",
            "maximum number of documents of all sources; those of one namespace may be half of "
            "what the others leave",
        ),
        (
            "source-size",
            BYTES,
            "256Mi",
            "maximum size of the manifests of all sources; those of one namespace may be half of "
            "what the others leave; 0: no limit",
        ),
        ("source-concurrent-reconciles", COUNT, "4", "number of sources reconciled concurrently"),
    ),
    Group.ENGINE: (
        (
            "install-crds",
            BOOLEAN,
            "true",
            "create or update the CRDs at start-up: ResourceGraphDefinition, GraphRevision, "
            "GitSource and SourceInventory",
        ),
        ("kro-version", VERSION, "v0.9.4", "version of kro to report in labels"),
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
            "on the first apply of a child that exists and has another owner: reject changes to "
            "it; reject them, unless it is in the instance's namespace and the instance has the "
            'annotation gitops.kro.run/adopt: "true"; or adopt it',
        ),
        (
            "drift-added-fields",
            one_of(AddedFields),
            "own",
            "remove fields that people added to children with kubectl or a user interface: own, "
            "from children that were created here; all, also from adopted ones; keep, from none, "
            "as kro; the annotation gitops.kro.run/drift-added-fields takes precedence",
        ),
        (
            "drift-managers",
            LIST,
            "",
            "further field managers whose fields --drift-added-fields removes, with commas",
        ),
        (
            "readiness",
            one_of(Readiness),
            "kro",
            "Ready of an instance means that its children were applied and readyWhen holds; or "
            "also that all children are healthy. A definition can say otherwise with the "
            "annotation gitops.kro.run/readiness",
        ),
        (
            "author-conditions-ready",
            one_of(AuthorReady),
            "source",
            "publish Ready beside conditions that the author of a definition defines, unless one "
            "of them is Ready: never, as kro; source, if a source applied the definition; or "
            "always. The annotation gitops.kro.run/ready-conditions takes precedence",
        ),
        (
            "tracking-mode",
            one_of(Mode),
            "follow",
            "follow: children get the Argo CD tracking id of their instance, if it has one; "
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
            "label that Argo CD tracks by: its application.instanceLabelKey",
        ),
        (
            "propagate-labels",
            PATTERNS,
            "*",
            "labels of an instance that are copied to its children: patterns with commas between "
            "them, or none",
        ),
        ("evaluation-limit", POSITIVE_DURATION, "50ms", "time limit for one CEL expression"),
        (
            "instance-evaluation-limit",
            DURATION,
            "5s",
            "limit on the CPU time of all CEL expressions in one reconcile of an instance; 0: none",
        ),
        (
            "retain-persistent-volume-claims",
            BOOLEAN,
            "false",
            "keep PersistentVolumeClaims that would be deleted, unless their template says Delete",
        ),
        (
            "max-prune-count",
            NATURAL,
            "0",
            "children that one change of a definition or an instance that is not from a source may "
            "delete without approval, if it deletes more than max-prune-percent; 0: any number",
        ),
        (
            "max-prune-percent",
            NATURAL,
            "30",
            "share of the children of a resource that one change may delete without approval",
        ),
        ("events", BOOLEAN, "true", "emit Kubernetes Events"),
        ("feature-gates", gates(Gate), "", "enable or disable kro's feature gates"),
        ("rgd-max-collection-size", COUNT, "1000", "maximum number of objects of one forEach"),
        (
            "rgd-max-collection-dimension-size",
            COUNT,
            "10",
            "maximum number of dimensions of one forEach",
        ),
        (
            "rgd-max-graph-revisions",
            INTEGER,
            "5",
            "number of revisions of a definition to keep; 0 or less: all",
        ),
        (
            "rgd-progress-requeue-delay",
            DURATION,
            "3s",
            "requeue delay of a definition that waits for something; a change requeues it sooner",
        ),
        (
            "instance-requeue-interval",
            DURATION,
            "3s",
            "requeue delay of an instance that waits for something; a change requeues it sooner, "
            "and 0 means only then",
        ),
        (
            "resource-graph-definition-concurrent-reconciles",
            COUNT,
            "8",
            "number of definitions reconciled concurrently",
        ),
        (
            "graph-revision-concurrent-reconciles",
            COUNT,
            "8",
            "number of graph revisions reconciled concurrently",
        ),
        (
            "dynamic-controller-concurrent-reconciles",
            COUNT,
            "16",
            "number of instances of one namespace reconciled concurrently; of all namespaces "
            "together twice as many",
        ),
        (
            "dynamic-controller-rate-limiter-min-delay",
            POSITIVE_DURATION,
            "200ms",
            "backoff after the first failure; it doubles with each further one",
        ),
        (
            "dynamic-controller-rate-limiter-max-delay",
            POSITIVE_DURATION,
            "1000s",
            "maximum backoff; retries never stop",
        ),
    ),
    Group.ELECTION: (
        (
            "leader-elect",
            BOOLEAN,
            "false",
            "allow only one of several replicas to be active at a time",
        ),
        (
            "leader-election-namespace",
            NAMESPACE,
            "",
            "namespace of the Lease; by default that of the pod",
        ),
        (
            "leader-election-lease-duration",
            POSITIVE_DURATION,
            "15s",
            "time after which other replicas replace a leader that does not renew",
        ),
        (
            "leader-election-renew-deadline",
            POSITIVE_DURATION,
            "10s",
            "time after which a leader that cannot renew steps down",
        ),
        (
            "leader-election-retry-period",
            POSITIVE_DURATION,
            "2s",
            "interval between two attempts to acquire or renew",
        ),
        (
            "allow-second-controller",
            BOOLEAN,
            "false",
            "start although kro or another release of kro-gitops is running in the cluster",
        ),
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
            "exit when all sources, definitions and instances are ready or have failed; the exit "
            "code tells which",
        ),
        ("timeout", POSITIVE_DURATION, "2m", "time limit of --once"),
        (
            "metrics-bind-address",
            ADDRESS,
            "127.0.0.1:8078",
            "address to serve /metrics at, without authentication; 0: none, the default with the "
            "embedded API",
        ),
        (
            "health-probe-bind-address",
            ADDRESS,
            ":8079",
            "address to serve /healthz and /readyz at; 0: none, the default with the embedded API",
        ),
        (
            "graceful-shutdown-timeout",
            DURATION,
            "60s",
            "time limit for running reconciles after a signal to stop",
        ),
        (
            "log-format",
            one_of(LogFormat),
            "auto",
            "format of logs; auto: readable lines, below them a live view on a terminal; console: "
            "readable lines only; json: a JSON object on each line",
            ("zap-encoder",),
        ),
        (
            "log-level",
            one_of(LogLevel, _LEVELS_OF_ZAP),
            "info",
            "lowest level to log; zap's names and numbers are accepted",
            ("zap-log-level",),
        ),
    ),
    Group.KRO: (
        ("zap-devel", BOOLEAN, "false", "use --log-format and --log-level"),
        ("zap-stacktrace-level", TEXT, "", "unexpected errors always have a traceback"),
        ("zap-time-encoding", TEXT, "", "times are RFC 3339"),
        ("pprof-bind-address", TEXT, "", "there is no Go profile to serve"),
        (
            "dynamic-controller-rate-limiter-rate-limit",
            INTEGER,
            "0",
            "retries of instances are not limited globally",
        ),
        (
            "dynamic-controller-rate-limiter-burst-limit",
            INTEGER,
            "0",
            "retries of instances are not limited globally",
        ),
        (
            "dynamic-controller-default-resync-period",
            INTEGER,
            "0",
            "watches are complete, so there is no periodic resync",
        ),
        (
            "dynamic-controller-default-queue-max-retries",
            INTEGER,
            "0",
            "no object is dropped from the queue; its retries back off",
        ),
    ),
}

OPTIONS: tuple[Option, ...] = tuple(
    Option(group, *row) for group, rows in _TABLE.items() for row in rows
)
