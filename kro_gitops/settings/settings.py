"""
Flags and environment → `Settings`.

A flag takes precedence over the environment, and the environment over the default. All problems are
reported together. `KUBECONFIG` is not read: a cluster must be named, otherwise the embedded API is
used.

The options themselves are the table in `flags`.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePath
from typing import Any

from kro_gitops.errors import UserError
from kro_gitops.settings.address import Address
from kro_gitops.settings.flags import OPTIONS
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
from kro_gitops.settings.tracking_options import Method, Mode

__all__ = [
    "OPTIONS",
    "AdoptionPolicy",
    "AuthorReady",
    "Gate",
    "Group",
    "LocalSource",
    "LogFormat",
    "LogLevel",
    "Option",
    "Readiness",
    "Settings",
    "SettingsError",
    "parse_settings",
]

_MAX_SHOWN = 100
_WORKLOAD_FLAGS = ("embedded-step", "embedded-outcome")
_EMBEDDED_FLAGS = (
    *("data-dir", "ephemeral", "snapshot", "embedded-host", "embedded-port"),
    *("embedded-workloads", *_WORKLOAD_FLAGS),
)
_BIND_ADDRESSES = ("metrics_bind_address", "health_probe_bind_address")
LOCAL_INTERVAL = 2.0  # seconds between two polls of a folder: they need no network
_POD_VARIABLE = "KUBERNETES_SERVICE_HOST"  # set in every pod


@dataclass(frozen=True, slots=True)
class LocalSource:
    """A source that may read a folder of this machine."""

    place: str  # namespace/name
    url: str


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a controller, from `parse_settings`. Times are seconds."""

    kubeconfig: PurePath | None
    context: str
    in_cluster: bool
    client_qps: float  # 0: no limit
    client_burst: int

    data_dir: PurePath | None  # None: the default of the user
    ephemeral: bool
    snapshot: PurePath | None  # None: the data of the folder
    embedded_host: str
    embedded_port: int  # 0: any that is free
    embedded_workloads: bool
    embedded_step: float
    embedded_outcome: tuple[tuple[str, str], ...]  # by image

    sources: bool
    repo: str
    branch: str
    tag: str
    semver: str
    commit: str
    path: tuple[str, ...]
    repo_interval: float
    repo_secret: str
    repo_name: str
    repo_namespace: str
    default_service_account: str
    instances_own_namespace_only: bool
    no_cross_namespace_refs: bool
    watch_namespaces: tuple[str, ...]  # empty: all
    allow_private_networks: bool
    allow_plain_http: bool
    allowed_git_hosts: tuple[str, ...]
    webhook_bind_address: Address | None
    storage_path: PurePath | None  # None: a temporary folder
    storage_size: int  # bytes; 0: no limit
    source_documents: int  # of all sources
    source_size: int  # bytes of all manifests; 0: no limit
    source_concurrent_reconciles: int

    install_crds: bool
    kro_version: str
    allow_crd_deletion: bool
    adoption_policy: AdoptionPolicy
    drift_added_fields: AddedFields
    drift_managers: tuple[str, ...]
    readiness: Readiness
    author_conditions_ready: AuthorReady
    tracking_mode: Mode
    argocd_tracking_method: Method
    argocd_label_key: str
    propagate_labels: tuple[str, ...]
    evaluation_limit: float
    instance_evaluation_limit: float  # 0: none
    retain_persistent_volume_claims: bool
    max_prune_count: int  # 0: any number
    max_prune_percent: int
    events: bool
    feature_gates: frozenset[str]  # those that are on: `Gate.OMIT in settings.feature_gates`
    rgd_max_collection_size: int
    rgd_max_collection_dimension_size: int
    rgd_max_graph_revisions: int  # 0 or less: all are kept
    rgd_progress_requeue_delay: float
    instance_requeue_interval: float  # 0: only when something changes
    resource_graph_definition_concurrent_reconciles: int
    graph_revision_concurrent_reconciles: int
    dynamic_controller_concurrent_reconciles: int
    dynamic_controller_rate_limiter_min_delay: float
    dynamic_controller_rate_limiter_max_delay: float

    leader_elect: bool
    leader_election_namespace: str  # empty: the namespace of the pod
    leader_election_lease_duration: float
    leader_election_renew_deadline: float
    leader_election_retry_period: float
    allow_second_controller: bool
    enable_controller_warmup: bool

    once: bool
    timeout: float
    metrics_bind_address: Address | None
    health_probe_bind_address: Address | None
    graceful_shutdown_timeout: float
    log_format: LogFormat
    log_level: LogLevel

    remembered: LocalSource | None = None  # the local folder of an earlier run
    ignored: tuple[str, ...] = ()  # flags and variables without effect that were given

    @property
    def is_embedded(self) -> bool:
        """Return True if no cluster was named: then the embedded API is used."""
        return not (self.kubeconfig or self.context or self.in_cluster)


class SettingsError(UserError):
    """Invalid flags or variables, with every problem found."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("bad-setting", "\n".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class _Given:
    """The text of an option, and the flag or variable it is from; none for the default."""

    text: str
    place: str = ""


def parse_settings(flags: Mapping[str, str], environment: Mapping[str, str]) -> Settings:
    """Read settings from flags (without dashes, and under their first name) and variables."""
    given: dict[str, _Given] = {}
    for option in OPTIONS:
        if option.flag in flags:
            given[option.flag] = _Given(flags[option.flag], option.flags[0])
        else:
            # In manifests and shells, an empty variable means that there is none.
            name = next((each for each in option.variables if environment.get(each)), None)
            given[option.flag] = _Given(environment[name], name) if name else _Given(option.default)
    values: dict[str, Any] = {}
    problems: list[str] = []
    for option in OPTIONS:
        text, place = given[option.flag].text, given[option.flag].place
        try:
            value = option.values.parse(text)
        except ValueError:
            shown = text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
            problems.append(f"{place}: {shown!r} is not {option.values.allowed}")
            continue
        if option.field:
            values[option.field] = value
    if not problems:  # values that could not be read cannot be compared
        problems += chain(
            _cluster_problems(given, values, environment),
            _run_problems(given, values),
            _time_problems(values),
        )
    if problems:
        raise SettingsError(tuple(problems))
    if values["client_qps"] and not values["client_burst"]:
        values["client_burst"] = math.ceil(values["client_qps"])
    if not _named_clusters(given, values):
        values |= {
            each: None for each in _BIND_ADDRESSES if not given[each.replace("_", "-")].place
        }
    if is_local_repository(values["repo"]) and not given["repo-interval"].place:
        values["repo_interval"] = LOCAL_INTERVAL
    ignored = tuple(p for o in OPTIONS if o.is_ignored and (p := given[o.flag].place))
    return Settings(**values, ignored=ignored)


def is_local_repository(text: str) -> bool:
    """Return whether the text of --repo is a folder of this machine, not the URL of a remote."""
    return bool(text) and ("://" not in text or text.startswith("file://"))


def _named_clusters(given: Mapping[str, _Given], values: Mapping[str, Any]) -> list[str]:
    """Return where a cluster is named."""
    fields = {"in-cluster": "in_cluster", "kubeconfig": "kubeconfig", "context": "context"}
    return [given[flag].place for flag, field in fields.items() if values[field]]


def _cluster_problems(
    given: Mapping[str, _Given], values: Mapping[str, Any], environment: Mapping[str, str]
) -> Iterator[str]:
    """Yield the problems with the choice of a cluster or of the embedded API."""
    named = _named_clusters(given, values)
    if values["in_cluster"] and len(named) > 1:
        names = " and ".join(named)
        yield f"{names} cannot be used together: a pod's service account needs no kubeconfig"
    # A variable may be set permanently, for runs without a cluster.
    about = [f"--{flag}" for flag in _EMBEDDED_FLAGS if given[flag].place == f"--{flag}"]
    if named and about:
        yield f"{about[0]} is for the embedded API, and {named[0]} names a cluster"
    if values["ephemeral"] and "--data-dir" in about:
        yield (
            "--ephemeral and --data-dir cannot be used together: one keeps the data, the other "
            "discards it"
        )
    for place in (given[flag].place for flag in _WORKLOAD_FLAGS):
        if place and not values["embedded_workloads"]:
            yield f"{place} needs --embedded-workloads, which is disabled"
    if named:
        return
    if values["leader_elect"]:
        place = given["leader-elect"].place
        yield f"{place} is for replicas in a cluster: give --in-cluster, --kubeconfig or --context"
    elif environment.get(_POD_VARIABLE) and not any(given[flag].place for flag in _EMBEDDED_FLAGS):
        # A user who forgot a flag would wonder why nothing happens in the cluster.
        yield (
            "no cluster is named, and this is a pod: use --in-cluster for its own cluster, or "
            "--ephemeral or --data-dir FOLDER for the embedded API"
        )


def _run_problems(given: Mapping[str, _Given], values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the problems with `--once` and with the repository that was named."""
    if given["timeout"].place == "--timeout" and not values["once"]:
        yield "--timeout needs --once"
    if values["once"] and values["leader_elect"]:
        place = given["leader-elect"].place
        yield f"--once and {place} cannot be used together: another replica may be the leader"
    about = ("branch", "tag", "semver", "commit", "path", "repo-secret")
    alone = [given[flag].place for flag in about if given[flag].place and not values["repo"]]
    if alone:
        yield f"{' and '.join(alone)} without --repo"
    if values["repo"] and not values["sources"]:
        yield "--repo needs --sources, which is disabled"
    chosen = [given[flag].place for flag in ("branch", "tag", "semver") if values[flag]]
    if len(chosen) > 1:
        yield f"{' and '.join(chosen)} cannot be used together"


def _time_problems(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the durations that contradict each other."""
    if (
        values["dynamic_controller_rate_limiter_min_delay"]
        > values["dynamic_controller_rate_limiter_max_delay"]
    ):
        yield (
            "--dynamic-controller-rate-limiter-min-delay is longer than "
            "--dynamic-controller-rate-limiter-max-delay"
        )
    if not values["leader_elect"]:
        return
    lease, renewal, pause = (
        values[f"leader_election_{name}"]
        for name in ("lease_duration", "renew_deadline", "retry_period")
    )
    if lease < 1:
        yield "--leader-election-lease-duration is shorter than 1s, which a Lease cannot store"
    if not lease > renewal > pause:
        # While a leader may still renew its lease, there must be no successor.
        yield (
            "--leader-election-lease-duration must be longer than "
            "--leader-election-renew-deadline, and that longer than --leader-election-retry-period"
        )
