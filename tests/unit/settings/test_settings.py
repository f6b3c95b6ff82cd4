from dataclasses import fields
from typing import Any

import pytest

from kro_gitops.settings.address import Address
from kro_gitops.settings.settings import (
    OPTIONS,
    AdoptionPolicy,
    Gate,
    LogFormat,
    LogLevel,
    Settings,
    SettingsError,
    parse_settings,
)
from kro_gitops.settings.tracking_options import Method, Mode

IN_CLUSTER = {"in-cluster": "true"}
BY_FLAG = {option.flag: option for option in OPTIONS}

# What kro v0.9.4 has; its chart and the manifests of its users pass these.
KRO = [
    "metrics-bind-address",
    "health-probe-bind-address",
    "pprof-bind-address",
    "leader-elect",
    "leader-election-namespace",
    "leader-election-lease-duration",
    "leader-election-renew-deadline",
    "leader-election-retry-period",
    "enable-controller-warmup",
    "allow-crd-deletion",
    "graceful-shutdown-timeout",
    "resource-graph-definition-concurrent-reconciles",
    "graph-revision-concurrent-reconciles",
    "dynamic-controller-concurrent-reconciles",
    "dynamic-controller-rate-limiter-min-delay",
    "dynamic-controller-rate-limiter-max-delay",
    "dynamic-controller-rate-limiter-rate-limit",
    "dynamic-controller-rate-limiter-burst-limit",
    "instance-requeue-interval",
    "dynamic-controller-default-resync-period",
    "dynamic-controller-default-queue-max-retries",
    "client-qps",
    "client-burst",
    "rgd-max-collection-size",
    "rgd-max-collection-dimension-size",
    "rgd-max-graph-revisions",
    "rgd-progress-requeue-delay",
    "feature-gates",
    "kubeconfig",
    "zap-devel",
    "zap-encoder",
    "zap-log-level",
    "zap-stacktrace-level",
    "zap-time-encoding",
]


def parsed(environment: dict[str, str] | None = None, /, **flags: str) -> Settings:
    """Read settings for a pod; flags are written with underscores."""
    given = {name.replace("_", "-"): text for name, text in flags.items()}
    return parse_settings({**IN_CLUSTER, **given}, environment or {})


def problems(environment: dict[str, str] | None = None, /, **flags: str) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        parsed(environment, **flags)
    return caught.value.problems


@pytest.mark.parametrize("flag", KRO)
def test_every_flag_of_kro_is_known(flag: str) -> None:
    assert any(f"--{flag}" in option.flags for option in OPTIONS)


def test_every_setting_has_an_option_and_every_option_a_setting_unless_it_is_ignored() -> None:
    from_options = [option.field for option in OPTIONS if option.field]
    others = ("ignored", "remembered")
    in_settings = [field.name for field in fields(Settings) if field.name not in others]
    assert sorted(from_options) == sorted(in_settings)


def test_no_two_options_share_a_flag_or_a_variable() -> None:
    flags = [flag for option in OPTIONS for flag in (*option.flags, option.negation) if flag]
    variables = [name for option in OPTIONS for name in option.variables]
    assert len(set(flags)) == len(flags)
    assert len(set(variables)) == len(variables)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kubeconfig", None),
        ("context", ""),
        ("client_qps", 0.0),
        ("client_burst", 0),
        ("install_crds", True),
        ("kro_version", "v0.9.4"),
        ("allow_crd_deletion", False),
        ("adoption_policy", AdoptionPolicy.REFUSE),
        ("tracking_mode", Mode.FOLLOW),
        ("argocd_tracking_method", Method.ANNOTATION),
        ("argocd_label_key", "app.kubernetes.io/instance"),
        ("propagate_labels", ("*",)),
        ("evaluation_limit", 0.05),
        ("events", True),
        ("feature_gates", frozenset()),
        ("rgd_max_collection_size", 1000),
        ("rgd_max_collection_dimension_size", 10),
        ("rgd_max_graph_revisions", 5),
        ("rgd_progress_requeue_delay", 3.0),
        ("instance_requeue_interval", 3.0),
        ("resource_graph_definition_concurrent_reconciles", 8),
        ("graph_revision_concurrent_reconciles", 8),
        ("dynamic_controller_concurrent_reconciles", 16),
        ("dynamic_controller_rate_limiter_min_delay", 0.2),
        ("dynamic_controller_rate_limiter_max_delay", 1000.0),
        ("leader_elect", False),
        ("leader_election_namespace", ""),
        ("leader_election_lease_duration", 15.0),
        ("leader_election_renew_deadline", 10.0),
        ("leader_election_retry_period", 2.0),
        ("enable_controller_warmup", False),
        ("metrics_bind_address", Address("127.0.0.1", 8078)),
        ("health_probe_bind_address", Address("", 8079)),
        ("graceful_shutdown_timeout", 60.0),
        ("log_format", LogFormat.AUTO),
        ("log_level", LogLevel.INFO),
        ("ignored", ()),
    ],
)
def test_the_defaults(field: str, value: Any) -> None:
    assert getattr(parsed(), field) == value


def test_a_variable_is_named_after_its_flag() -> None:
    assert BY_FLAG["allow-crd-deletion"].variables == ("KRO_GITOPS_ALLOW_CRD_DELETION",)
    assert parsed({"KRO_GITOPS_ALLOW_CRD_DELETION": "true"}).allow_crd_deletion


def test_a_flag_beats_the_environment_and_the_environment_beats_the_default() -> None:
    environment = {"KRO_GITOPS_LOG_LEVEL": "error"}
    assert parsed(environment).log_level is LogLevel.ERROR
    assert parsed(environment, log_level="debug").log_level is LogLevel.DEBUG


def test_an_empty_variable_is_none() -> None:
    assert parsed({"KRO_GITOPS_GRACEFUL_SHUTDOWN_TIMEOUT": ""}).graceful_shutdown_timeout == 60


@pytest.mark.parametrize(
    ("flag", "text", "field", "value"),
    [
        ("metrics-bind-address", "0", "metrics_bind_address", None),
        ("propagate-labels", "none", "propagate_labels", ()),
        ("propagate-labels", "team, example.com/*", "propagate_labels", ("team", "example.com/*")),
        ("rgd-max-graph-revisions", "-1", "rgd_max_graph_revisions", -1),
        ("instance-requeue-interval", "0", "instance_requeue_interval", 0),
        ("graceful-shutdown-timeout", "1m30s", "graceful_shutdown_timeout", 90),
        ("argocd-tracking-method", "annotation+label", "argocd_tracking_method", Method.BOTH),
        ("log-level", "2", "log_level", LogLevel.DEBUG),
        ("log-level", "warn", "log_level", LogLevel.WARNING),
        ("log-level", "panic", "log_level", LogLevel.ERROR),
    ],
)
def test_what_options_mean(flag: str, text: str, field: str, value: Any) -> None:
    assert getattr(parsed(**{flag: text}), field) == value


@pytest.mark.parametrize(
    ("flags", "seconds"),
    [
        ({}, 60.0),
        ({"repo": "https://github.com/acme/shop"}, 60.0),
        ({"repo": "."}, 2.0),
        ({"repo": "file:///srv/shop"}, 2.0),
        ({"repo": ".", "repo-interval": "1m"}, 60.0),
    ],
)
def test_a_local_folder_is_polled_every_two_seconds_unless_an_interval_is_given(
    flags: dict[str, str], seconds: float
) -> None:
    assert parse_settings(flags, {}).repo_interval == seconds


def test_without_a_burst_as_many_are_sent_at_once_as_in_a_second() -> None:
    assert parsed(client_qps="2.5").client_burst == 3
    assert parsed(client_qps="50", client_burst="100").client_burst == 100


@pytest.mark.parametrize(
    ("text", "on"),
    [
        ("", []),
        ("CELOmitFunction=true", [Gate.OMIT]),
        ("CELOmitFunction=true, InstanceConditionEvents=false", [Gate.OMIT]),
        ("AllAlpha=true", list(Gate)),
        ("AllBeta=true", []),
        ("CELOmitFunction=false,AllAlpha=true", [Gate.CONDITION_EVENTS, Gate.CONDITION_METRICS]),
    ],
)
def test_feature_gates(text: str, on: list[Gate]) -> None:
    assert parsed(feature_gates=text).feature_gates == set(on)


@pytest.mark.parametrize("text", ["Omit=true", "CELOmitFunction", "CELOmitFunction=perhaps"])
def test_a_gate_that_is_unknown_or_has_no_value_is_refused_with_the_known_ones(text: str) -> None:
    (problem,) = problems(feature_gates=text)
    assert problem.startswith(f"--feature-gates: '{text}' is not ")
    assert "AllAlpha, AllBeta, CELOmitFunction, InstanceConditionEvents, Instance" in problem


def test_a_mistake_names_the_flag_or_the_variable_with_its_value_and_what_is_allowed() -> None:
    assert problems(evaluation_limit="fast") == (
        "--evaluation-limit: 'fast' is not a duration above 0, such as 3s, 500ms or 1m30s",
    )
    assert problems({"KRO_GITOPS_LOG_FORMAT": "xml"}) == (
        "KRO_GITOPS_LOG_FORMAT: 'xml' is not one of auto, console, json",
    )
    assert problems({"KRO_GITOPS_ZAP_ENCODER": "xml"})[0].startswith("KRO_GITOPS_ZAP_ENCODER: ")


def test_all_mistakes_are_told_at_once() -> None:
    found = problems(
        {"KRO_GITOPS_EVENTS": "maybe"}, client_qps="-1", metrics_bind_address="localhost"
    )
    assert [each.split(":")[0] for each in found] == [
        "--client-qps",
        "KRO_GITOPS_EVENTS",
        "--metrics-bind-address",
    ]


def test_a_long_value_is_cut_in_the_message() -> None:
    (problem,) = problems(log_level="x" * 5000)
    assert len(problem) < 200


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"in-cluster": "false"}, id="not in the cluster"),
        pytest.param({"kubeconfig": ""}, id="an empty kubeconfig"),
    ],
)
def test_without_a_way_to_a_cluster_it_is_the_embedded_one(flags: dict[str, str]) -> None:
    given = parse_settings(flags, {"KUBECONFIG": "/somebody/elses/config"})
    assert given.is_embedded
    assert (given.embedded_host, given.embedded_port) == ("127.0.0.1", 0)
    # Two of them, on one machine, must not quarrel about ports that nobody asks for.
    assert (given.metrics_bind_address, given.health_probe_bind_address) == (None, None)


def test_ports_that_are_asked_for_are_served_beside_the_embedded_api() -> None:
    given = parse_settings(
        {"metrics-bind-address": ":8078"}, {"KRO_GITOPS_HEALTH_PROBE_BIND_ADDRESS": ":8079"}
    )
    assert given.metrics_bind_address == Address("", 8078)
    assert given.health_probe_bind_address == Address("", 8079)


def test_how_workloads_fare_is_told_by_flags_or_variables() -> None:
    given = parse_settings({}, {})
    assert (given.embedded_workloads, given.embedded_step) == (True, 1.0)
    assert given.embedded_outcome == ()
    given = parse_settings(
        {"embedded-step": "0"}, {"KRO_GITOPS_EMBEDDED_OUTCOME": "a=Failed, b=Running"}
    )
    assert given.embedded_step == 0.0
    assert given.embedded_outcome == (("a", "Failed"), ("b", "Running"))


@pytest.mark.parametrize("flag", ["kubeconfig", "context", "in-cluster"])
def test_with_a_cluster_there_is_no_embedded_one(flag: str) -> None:
    given = parse_settings({flag: "true"}, {"KRO_GITOPS_DATA_DIR": "/srv/data"})
    assert not given.is_embedded
    assert given.metrics_bind_address == Address("127.0.0.1", 8078)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (
            {"context": "dev", "data-dir": "/srv"},
            "--data-dir is for the embedded API, and --context names a cluster",
        ),
        (
            {"in-cluster": "true", "embedded-port": "0"},
            "--embedded-port is for the embedded API, and --in-cluster names a cluster",
        ),
        (
            {"ephemeral": "true", "data-dir": "/srv"},
            "--ephemeral and --data-dir cannot be used together: one keeps the data, the other "
            "discards it",
        ),
        (
            {"leader-elect": "true"},
            "--leader-elect is for replicas in a cluster: give --in-cluster, --kubeconfig or "
            "--context",
        ),
        (
            {"timeout": "3s"},
            "--timeout needs --once",
        ),
        (
            {"context": "dev", "once": "true", "leader-elect": "true"},
            "--once and --leader-elect cannot be used together: another replica may be the leader",
        ),
        ({"embedded-port": "65536"}, "--embedded-port: '65536' is not a port from 0 to 65535"),
        (
            {"embedded-outcome": "web=Broken"},
            "--embedded-outcome: 'web=Broken' is not IMAGE=OUTCOME, where OUTCOME is one of "
            "Running, Succeeded, Failed, Pending, Unschedulable, CrashLoopBackOff, "
            "ImagePullBackOff",
        ),
        (
            {"embedded-workloads": "false", "embedded-step": "3s"},
            "--embedded-step needs --embedded-workloads, which is disabled",
        ),
        (
            {"context": "dev", "embedded-outcome": "web=Failed"},
            "--embedded-outcome is for the embedded API, and --context names a cluster",
        ),
        (
            {"embedded-host": "a b"},
            "--embedded-host: 'a b' is not an address such as 127.0.0.1 or ::1, or the name of a "
            "host",
        ),
    ],
)
def test_what_does_not_go_with_the_embedded_api_is_told(flags: dict[str, str], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_settings(flags, {})
    assert caught.value.problems == (said,)


def test_in_a_pod_the_embedded_api_must_be_asked_for() -> None:
    pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    with pytest.raises(SettingsError) as caught:
        parse_settings({}, pod)
    (problem,) = caught.value.problems
    assert problem.startswith("no cluster is named, and this is a pod: use --in-cluster")
    assert parse_settings({"ephemeral": "true"}, pod).is_embedded
    assert parse_settings({}, {**pod, "KRO_GITOPS_DATA_DIR": "/srv"}).is_embedded
    assert not parse_settings({"in-cluster": "true"}, pod).is_embedded


@pytest.mark.parametrize(
    ("flags", "environment", "named"),
    [
        ({"kubeconfig": "a"}, {}, "--in-cluster and --kubeconfig cannot be used"),
        ({"context": "a"}, {}, "--in-cluster and --context cannot be used"),
        ({}, {"KRO_GITOPS_KUBECONFIG": "a"}, "--in-cluster and KRO_GITOPS_KUBECONFIG cannot"),
    ],
)
def test_two_ways_to_a_cluster_are_refused(
    flags: dict[str, str], environment: dict[str, str], named: str
) -> None:
    (problem,) = problems(environment, **flags)
    assert problem.startswith(named)


def test_a_context_may_be_of_a_kubeconfig_or_of_those_that_kubectl_reads() -> None:
    both = parse_settings({"kubeconfig": "/a/config", "context": "dev"}, {})
    assert (str(both.kubeconfig), both.context) == ("/a/config", "dev")
    alone = parse_settings({"context": "dev"}, {})
    assert (alone.kubeconfig, alone.context) == (None, "dev")


def test_what_is_given_and_means_nothing_is_named() -> None:
    settings = parsed({"KRO_GITOPS_PPROF_BIND_ADDRESS": ":6060"}, zap_devel="false")
    assert settings.ignored == ("--zap-devel", "KRO_GITOPS_PPROF_BIND_ADDRESS")


def test_flags_without_effect_must_still_make_sense() -> None:
    assert problems(dynamic_controller_default_queue_max_retries="many")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"lease-duration": "10s"}, "must be longer"),
        ({"renew-deadline": "1s"}, "must be longer"),
        (
            {"lease-duration": "900ms", "renew-deadline": "500ms", "retry-period": "100ms"},
            "shorter than 1s",
        ),
    ],
)
def test_a_leader_must_step_down_before_others_take_over(flags: dict[str, str], said: str) -> None:
    given = {f"leader-election-{name}": text for name, text in flags.items()}
    (problem,) = problems(**given, leader_elect="true")
    assert said in problem
    assert not parsed(**given).leader_elect  # and otherwise it does not matter


def test_the_first_delay_must_not_be_longer_than_the_longest() -> None:
    (problem,) = problems(dynamic_controller_rate_limiter_min_delay="2000s")
    assert "max-delay" in problem


def test_every_option_is_explained() -> None:
    for option in OPTIONS:
        assert len(option.help) > 15, option.flag
        assert not option.help.endswith("."), option.flag
