"""How trees are drawn; on a cluster: tests/e2e/test_cluster_verbs.py."""

from datetime import UTC, datetime

import pytest

from kro_gitops.cli.tables import ASCII, UNICODE, branch_row, flatten, guides_for
from kro_gitops.inspect.views.instances import Absent, Branch
from kro_gitops.tracking.health import Health, HealthStatus
from kube_objects.refs import KubeObject
from tests.command import run

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
FINE = HealthStatus(Health.HEALTHY, "all is well")


def obj(kind: str, name: str) -> KubeObject:
    metadata = {"name": name, "namespace": "town", "creationTimestamp": "2026-03-01T11:58:00Z"}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata}


def sample() -> Branch:
    waiting = HealthStatus(Health.PROGRESSING, "1 of 2\nreplicas")
    inner = Branch(obj("Pod", "p"), "pod", FINE)
    nested = Branch(obj("Kiosk", "inner"), "sub", waiting, (inner,), note="shown above")
    last = Branch(obj("ConfigMap", "cm"), "cm[1]", FINE)
    absent = (Absent("secret", "Secret/x", "external reference"),)
    return Branch(obj("Kiosk", "corner"), "", FINE, (nested, last), absent)


def test_a_tree_is_drawn_with_health_age_and_reason() -> None:
    lines = flatten([branch_row(sample(), NOW)], UNICODE)
    assert [line.cells for line in lines] == [
        ("Kiosk/corner in town", "Healthy", "2m", ""),
        ("├── sub: Kiosk/inner", "Progressing", "2m", "1 of 2 … · shown above"),
        ("│   └── pod: Pod/p", "Healthy", "2m", ""),
        ("├── cm[1]: ConfigMap/cm", "Healthy", "2m", ""),
        ("└── secret: Secret/x", "-", "-", "external reference"),
    ]
    assert [line.is_dim for line in lines] == [False, False, False, False, True]


def test_a_terminal_that_knows_no_unicode_gets_ascii() -> None:
    drawn = [line.cells[0] for line in flatten([branch_row(sample(), NOW)], ASCII)]
    assert drawn[1:] == [
        "|-- sub: Kiosk/inner",
        "|   `-- pod: Pod/p",
        "|-- cm[1]: ConfigMap/cm",
        "`-- secret: Secret/x",
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "UTF-8", "utf8", None])
def test_utf_8_has_branches(encoding: str | None) -> None:
    assert guides_for(encoding) is UNICODE


@pytest.mark.parametrize("encoding", ["ascii", "iso8859-1", "ANSI_X3.4-1968"])
def test_other_encodings_have_not(encoding: str) -> None:
    assert guides_for(encoding) is ASCII


def test_a_wrong_command_line() -> None:
    done = run("tree", "/front")
    assert done.code == 64
    assert "argument KIND/NAME: '/front' is not KIND/NAME, as in webapp/front" in done.err
