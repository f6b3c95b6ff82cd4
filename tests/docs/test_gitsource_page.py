"""The page about sources: its tables are the CRD's, its examples are accepted, its names exist."""

import re

import pytest
import yaml

from kro_gitops import metadata
from kro_gitops.source.api.parse import Defaults, read_spec
from kro_gitops.source.api.resources import GIT_SOURCE_SCHEMA
from kro_gitops.source.api.schema import SPEC_SCHEMA
from kro_gitops.source.plan import prune, status
from kro_gitops.tracking.inventory import SHARD_SIZE
from kube_cel.validation_rules import check_rules
from kube_objects.refs import KubeObject
from kube_objects.validation import Checks, validate
from tools.update_source_docs import PAGE, fields, page, spec_table

TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES: list[KubeObject] = [
    yaml.safe_load(text) for text in re.findall(r"<!-- example -->\n```yaml\n(.*?)```", TEXT, re.S)
]


def test_tables_are_what_the_crd_says() -> None:
    assert page() == TEXT, "run python -m tools.update_source_docs"


@pytest.mark.parametrize("example", EXAMPLES, ids=["smallest", "everything"])
def test_examples_are_valid(example: KubeObject) -> None:
    assert validate(example, GIT_SOURCE_SCHEMA, Checks(rules=check_rules)) == []
    assert read_spec(example, Defaults()).url == example["spec"]["url"]


def test_the_long_example_has_every_field() -> None:
    smallest, everything = EXAMPLES
    assert list(smallest["spec"]) == ["url"]
    assert list(everything["spec"]) == list(SPEC_SCHEMA["properties"])


def test_every_field_of_the_spec_has_a_row() -> None:
    rows = re.findall(r"^\| `([\w.\[\]]+)` \|", spec_table(), re.MULTILINE)
    assert rows == [each.path for each in fields(SPEC_SCHEMA)]
    assert {"url", "ref.semverFilter", "drift.ignore[].target.kind", "pin.expires"} <= set(rows)


def test_every_condition_has_a_row_and_no_other() -> None:
    section = TEXT.split("### Conditions")[1].split("\n## ")[0]
    shown = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    assert shown == {
        status.READY, status.RECONCILING, status.STALLED, status.FETCH_FAILED, status.VERIFIED,
        status.APPLIED, status.HEALTHY, status.PINNED, status.FOREIGN, status.CONFLICT,
        status.BRAKED, status.DEPENDENCY, status.SUSPENDED, status.STALE,
    }  # fmt: skip


def test_the_size_of_a_shard_is_that_of_the_program() -> None:
    explanation = PAGE.parents[1] / "explanation" / "sources.md"
    for text in (TEXT, explanation.read_text(encoding="utf-8")):
        assert re.findall(r"holds up to (\d+) entries", text) == [str(SHARD_SIZE)]


def test_annotations_and_labels_are_those_of_the_program() -> None:
    section = TEXT.split("## Annotations and labels")[1]
    shown = set(re.findall(r"`(gitops\.kro\.run/[\w-]+)", section))
    assert shown == {
        metadata.SOURCE, metadata.SOURCE_PATH, metadata.REVISION, metadata.SOURCE_HASH,
        metadata.SOURCE_NAME, metadata.WAVE, metadata.DEPENDS_ON, metadata.PRUNE, metadata.FORCE,
        metadata.PRUNE_APPROVED,
    }  # fmt: skip
    assert metadata.REQUESTED_AT in section
    assert metadata.SOURCE_MANAGER in section
    assert prune.ALLOW_PRUNE in section
