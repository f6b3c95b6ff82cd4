from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.jobs.completion_indexes import (
    WrongIndexesError,
    count_indexes,
    overlap,
)
from kube_sandbox.registry.builtin.workload_strategies import WORKLOADS
from kube_sandbox.registry.strategy import RequestContext

JOBS = WORKLOADS["jobs.batch"]
OCCASION = RequestContext(datetime(2026, 1, 2, tzinfo=UTC))


def job(**metadata: object) -> KubeObject:
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]},
    }
    found = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "n", "uid": "u", **metadata},
        "spec": {"template": template},
    }
    JOBS.default(found)
    return found


def test_a_job_without_labels_has_those_of_its_pods() -> None:
    obj = job()
    JOBS.prepare_create(obj, OCCASION)
    assert obj["metadata"]["labels"] == {
        "a": "b",
        "job-name": "j",
        "batch.kubernetes.io/job-name": "j",
        "controller-uid": "u",
        "batch.kubernetes.io/controller-uid": "u",
    }
    assert obj["metadata"]["labels"] == obj["spec"]["template"]["metadata"]["labels"]
    assert obj["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}


def test_a_job_with_labels_keeps_them() -> None:
    obj = job(labels={"a": "b"})
    JOBS.prepare_create(obj, OCCASION)
    assert obj["metadata"]["labels"] == {"a": "b"}


@given(st.sets(st.integers(0, 40)))
def test_as_many_indexes_are_counted_as_are_listed(indexes: set[int]) -> None:
    text = ",".join(map(str, sorted(indexes)))
    assert count_indexes(text, 41) == len(indexes)


@given(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)))
def test_an_index_that_is_in_both_lists_is_found(one: set[int], two: set[int]) -> None:
    found = overlap(",".join(map(str, sorted(one))), ",".join(map(str, sorted(two))), 10)
    assert found in one & two if one & two else found is None


@pytest.mark.parametrize("text", ["1,1", "3-2", "1-2-3", "x", "9", "0-9", "2,1"])
def test_what_is_no_list_of_indexes_is_refused(text: str) -> None:
    with pytest.raises(WrongIndexesError):
        count_indexes(text, 5)
