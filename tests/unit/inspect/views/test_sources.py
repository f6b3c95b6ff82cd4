"""What is shown of sources, from objects."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kro_gitops.inspect.kind_lookup import means_source
from kro_gitops.inspect.views.instances import Written
from kro_gitops.inspect.views.source_advice import ADVICE, advice
from kro_gitops.inspect.views.sources import (
    commit_of,
    entries,
    failure_lines,
    failures,
    short_revision,
    source_row,
    source_verdict,
    without_secrets,
)
from kro_gitops.metadata import SUSPEND_REASON
from kro_gitops.tracking.health import Health
from kube_objects.refs import KubeObject

COMMIT = "1a2b3c4d" * 5


def condition(type_: str, status: str, message: str = "", reason: str = "Because") -> KubeObject:
    return {"type": type_, "status": status, "reason": reason, "message": message}


READY = condition("Ready", "True", "applied main")


def source(
    *conditions: KubeObject, spec: dict[str, Any] | None = None, **status: Any
) -> KubeObject:
    metadata = {
        "name": "shop",
        "namespace": "gitops",
        "generation": 2,
        "creationTimestamp": "2026-03-01T11:55:00Z",
    }
    whole = {"observedGeneration": 2, "conditions": list(conditions), **status}
    return {
        "apiVersion": "gitops.kro.run/v1alpha1",
        "kind": "GitSource",
        "metadata": metadata,
        "spec": {"url": "https://git.example.com/shop.git", **(spec or {})},
        "status": whole,
    }


def test_a_row_has_all_that_is_known() -> None:
    row = source_row(
        source(
            READY,
            spec={"paths": ["apps", "rgds"]},
            phase="Healthy",
            lastAppliedRevision=f"main@sha1:{COMMIT}",
            inventory={"objects": 40, "ready": 38},
            commit={"author": "Ann"},
            history=[{"finished": "2026-03-01T11:59:00Z"}, {"finished": "2026-02-01T00:00:00Z"}],
        )
    )
    assert (row.ready, row.phase, row.revision, row.objects) == (
        *("True", "Healthy", "main@1a2b3c4"),
        "38/40",
    )
    assert (row.paths, row.author, row.message) == ("apps,rgds", "Ann", "")
    assert row.synced == datetime(2026, 3, 1, 11, 59, tzinfo=UTC)


def test_a_source_that_nobody_has_picked_up() -> None:
    fresh = source()
    del fresh["status"]
    row = source_row(fresh)
    assert (row.ready, row.phase, row.revision, row.objects, row.author) == ("-",) * 5
    assert row.message == "not picked up yet"
    assert (row.synced, row.paths) == (None, ".")


@pytest.mark.parametrize("status", ["x", 7, ["x"], None])
def test_a_status_of_another_shape_is_no_reason_to_fail(status: object) -> None:
    odd = source(phase=status, conditions=status, history=status, inventory=status)
    assert source_row(odd).objects == "-"
    assert failure_lines({**odd, "status": {"failures": status}}) == []


@pytest.mark.parametrize(
    ("found", "health", "message"),
    [
        pytest.param(source(READY), Health.HEALTHY, "", id="all is well"),
        pytest.param(
            source(condition("Ready", "False", "cannot apply")),
            *(Health.DEGRADED, "cannot apply"),
            id="not ready",
        ),
        pytest.param(
            source(condition("Ready", "Unknown"), condition("Reconciling", "True", "12 of 40")),
            *(Health.PROGRESSING, "12 of 40"),
            id="under way",
        ),
        pytest.param(
            source(READY, spec={"suspend": True}), Health.SUSPENDED, "suspended", id="suspended"
        ),
        pytest.param(
            source(READY, observedGeneration=1),
            *(Health.PROGRESSING, "spec change not processed"),
            id="a change that nobody has read",
        ),
        pytest.param(
            source(READY, condition("Pinned", "True", "to 1a2b3c4: checkout fails")),
            *(Health.HEALTHY, "Pinned: to 1a2b3c4: checkout fails"),
            id="pinned, and well",
        ),
        pytest.param(
            source(
                condition("Ready", "False", "no route to host"),
                condition("FetchFailed", "True", "no route to host"),
            ),
            *(Health.DEGRADED, "no route to host"),
            id="the same is not said twice",
        ),
        pytest.param(
            source(condition("Ready", "False", "x"), condition("Stalled", "True", "five times x")),
            *(Health.DEGRADED, "five times x"),
            id="stalled",
        ),
    ],
)
def test_how_a_source_is(found: KubeObject, health: Health, message: str) -> None:
    assert source_verdict(found).health is health
    assert source_row(found).message == message


def test_why_it_is_suspended() -> None:
    resting = source(READY, spec={"suspend": True})
    resting["metadata"]["annotations"] = {SUSPEND_REASON: "migration"}
    assert source_row(resting).message == "suspended: migration"


def test_a_source_that_goes() -> None:
    going = source(READY)
    going["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    assert source_verdict(going).message == "being deleted"


@pytest.mark.parametrize(
    ("revision", "short"),
    [
        (f"main@sha1:{COMMIT}", "main@1a2b3c4"),
        (f"sha1:{COMMIT}", "1a2b3c4"),
        (f"refs/pull/7/head@sha1:{COMMIT}", "refs/pull/7/head@1a2b3c4"),
        (f"user@work@sha256:{COMMIT}", "user@work@1a2b3c4"),
        ("", ""),
    ],
)
def test_revisions_as_people_read_them(revision: str, short: str) -> None:
    assert short_revision(revision) == short


def test_the_commit_of_a_revision() -> None:
    assert commit_of(f"v1@sha1:{COMMIT}") == COMMIT


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://ann:s3cr3t@git.example.com/shop", "https://git.example.com/shop"),
        ("ssh://git@git.example.com/shop", "ssh://git@git.example.com/shop"),
        ("ssh://git:s3cr3t@git.example.com/shop", "ssh://git@git.example.com/shop"),
        ("https://[broken/shop", ""),
        ("file:///srv/shop.git", "file:///srv/shop.git"),
    ],
)
def test_passwords_are_not_shown(url: str, shown: str) -> None:
    assert without_secrets(url) == shown


WHOLE = {
    "object": "WebApp shop/front",
    "file": "apps/front.yaml",
    "line": 7,
    "column": 3,
    "code": "invalid",
    "message": "replicas: must be a number\nand more",
}


@pytest.mark.parametrize(
    ("missing", "line"),
    [
        ((), "apps/front.yaml:7:3: WebApp shop/front: replicas: must be a number …"),
        (("column",), "apps/front.yaml:7: WebApp shop/front: replicas: must be a number …"),
        (("object",), "apps/front.yaml:7:3: replicas: must be a number …"),
        (("file", "line", "column"), "WebApp shop/front: replicas: must be a number …"),
    ],
)
def test_a_failure_says_where_and_what(missing: tuple[str, ...], line: str) -> None:
    known = {key: value for key, value in WHOLE.items() if key not in missing}
    assert str(failures(source(failures=[known]))[0]) == line


def test_failures_that_are_left_out_are_counted() -> None:
    assert failure_lines(source(failures=[WHOLE], failuresOmitted=4))[1:] == ["and 4 more"]


def test_what_a_source_applied_in_the_order_in_which_it_does() -> None:
    shards = [
        {"entries": {"kro.run/WebApp/shop/front": {"stage": "10", "path": "a.yaml:1"}}},
        {
            "entries": {
                "kro.run/ResourceGraphDefinition//webapp": {"stage": "2"},
                "/ConfigMap/shop/settings": {"stage": "3"},
                "nonsense": {},
            }
        },
    ]
    assert [each.label for each in entries(shards)] == [
        "ResourceGraphDefinition/webapp",
        "ConfigMap/settings in shop",
        "WebApp/front in shop",
    ]
    assert "WebApp shop/front" in entries(shards)[2].names
    assert "ResourceGraphDefinition webapp" in entries(shards)[0].names


@pytest.mark.parametrize("type_", [type_ for type_ in ADVICE if type_ != "Pinned"])
def test_each_condition_has_its_advice(type_: str) -> None:
    assert advice(source(condition(type_, "True")), has_failures=True) == ADVICE[type_]
    assert advice(source(condition(type_, "False")), has_failures=False) == ""


def test_without_a_condition_the_files_are_to_blame() -> None:
    assert advice(source(READY), has_failures=True).startswith("correct the files in git")


@pytest.mark.parametrize(
    ("word", "is_source"),
    [
        *((word, True) for word in ("source", "Sources", "gs", "GitSource", "gitsources")),
        ("gitsources.gitops.kro.run", True),
        ("gitsources.v1alpha1.gitops.kro.run", True),
        ("sources.kro.run", False),
        ("webapp", False),
    ],
)
def test_words_that_mean_sources(word: str, is_source: bool) -> None:
    assert means_source(word) is is_source


@pytest.mark.parametrize(
    ("place", "cell"),
    [
        (Written("gitops/shop", "a.yaml:1", COMMIT), "gitops/shop a.yaml:1@1a2b3c4"),
        (Written("gitops/shop", "a.yaml:1", ""), "gitops/shop a.yaml:1"),
        (Written("", "a.yaml:1", COMMIT), "a.yaml:1@1a2b3c4"),
    ],
)
def test_a_place_in_a_cell(place: Written, cell: str) -> None:
    assert place.short == cell
