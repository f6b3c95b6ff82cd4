"""What people set reaches the part that goes by it."""

from dataclasses import replace
from pathlib import Path

import pytest

from kro_gitops.app.wiring import engine_settings, request_limits, source_rules
from kro_gitops.engine.controllers.engine import DEFINITIONS, INSTANCES, REVISIONS
from kro_gitops.kube.ratelimit import ClientLimits
from kro_gitops.settings.settings import LocalSource, Settings, parse_settings


def settings(**flags: str) -> Settings:
    given = {name.replace("_", "-"): value for name, value in flags.items()}
    return parse_settings({"in-cluster": "true", **given}, {})


def test_sizes_and_limits_reach_the_engine() -> None:
    rules = engine_settings(
        settings(
            rgd_max_collection_size="7",
            rgd_max_collection_dimension_size="3",
            rgd_max_graph_revisions="2",
            evaluation_limit="20ms",
            instance_evaluation_limit="2s",
        )
    )
    # The same limit when a definition is read and when an instance grows.
    assert rules.options.max_collection_size == rules.instances.collection_size == 7
    assert rules.options.max_dimensions == 3
    assert rules.definitions.keeps_revisions == 2
    assert rules.instances.evaluation.expression == 0.02
    assert rules.instances.evaluation.instance == 2.0


def test_each_queue_has_its_own_workers() -> None:
    rules = engine_settings(
        settings(
            resource_graph_definition_concurrent_reconciles="2",
            graph_revision_concurrent_reconciles="3",
            dynamic_controller_concurrent_reconciles="4",
        )
    )
    workers = {name: loop.workers for name, loop in rules.loops.items()}
    assert workers == {DEFINITIONS: 2, REVISIONS: 3, INSTANCES: 4}


def test_pauses_reach_instances_and_queues() -> None:
    rules = engine_settings(
        settings(
            instance_requeue_interval="5s",
            dynamic_controller_rate_limiter_min_delay="1s",
            dynamic_controller_rate_limiter_max_delay="60s",
            graceful_shutdown_timeout="9s",
        )
    )
    loop = rules.loops[INSTANCES]
    assert rules.instances.interval == loop.pace.later == 5.0
    assert (loop.pace.backoff.first, loop.pace.backoff.cap) == (1.0, 60.0)
    assert loop.grace == 9.0


def test_what_is_dangerous_is_off_unless_it_is_asked_for() -> None:
    rules = engine_settings(settings())
    assert not rules.definitions.deletes_crds
    assert not rules.options.omit
    assert not rules.instances.reports_all_conditions
    asked = engine_settings(
        settings(allow_crd_deletion="true", feature_gates="CELOmitFunction=true")
    )
    assert asked.definitions.deletes_crds
    assert asked.options.omit


def test_taking_over_is_a_choice() -> None:
    for policy in ("never", "refuse", "adopt"):
        assert engine_settings(settings(adoption_policy=policy)).instances.adoption == policy
    assert engine_settings(settings()).instances.adoption == "refuse"


def test_requests_are_limited_only_if_that_is_asked_for() -> None:
    limited = request_limits(settings(client_qps="50", client_burst="75"))
    assert (limited.per_second, limited.burst) == (50.0, 75)
    assert request_limits(settings(client_qps="0")) == ClientLimits()


@pytest.mark.parametrize(
    ("repo", "local"),
    [
        pytest.param("/srv/git/shop", {"file:///srv/git/shop"}, id="a folder"),
        pytest.param("file:///srv/git/shop", {"file:///srv/git/shop"}, id="a folder's URL"),
        pytest.param("https://git.example.com/shop.git", set(), id="a server's repository"),
        pytest.param("", set(), id="no repository"),
    ],
)
def test_only_folders_of_this_machine_are_read_as_such(repo: str, local: set[str]) -> None:
    rules = source_rules(settings(repo=repo) if repo else settings(), Path("storage"))
    assert set(rules.fetch.local_urls) == local
    assert rules.defaults.local_source == ("default/repo" if repo else "")


def test_a_folder_of_an_earlier_run_may_be_read_until_another_is_named() -> None:
    before = LocalSource("team/shop", "file:///srv/shop")
    rules = source_rules(replace(settings(), remembered=before), Path("storage"))
    assert rules.defaults.local_source == "team/shop"
    assert set(rules.fetch.local_urls) == {"file:///srv/shop"}
    rules = source_rules(replace(settings(repo="/srv/other"), remembered=before), Path("storage"))
    assert rules.defaults.local_source == "default/repo"
    assert set(rules.fetch.local_urls) == {"file:///srv/other"}
