"""Events in their two forms."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kube_objects.refs import Kind
from kube_sandbox.registry.builtin.events import from_core, to_core
from kube_sandbox.registry.builtin.go_codec.round_trip import round_trip_of

CORE = {
    "kind": "Event",
    "apiVersion": "v1",
    "metadata": {"name": "a"},
    "involvedObject": {"kind": "Pod"},
    "message": "hello",
    "source": {"component": "c"},
    "firstTimestamp": "2020-01-01T00:00:00Z",
    "lastTimestamp": None,
    "count": 3,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}


def test_fields_have_other_names_in_the_newer_group() -> None:
    assert from_core(CORE) == {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "metadata": {"name": "a"},
        "regarding": {"kind": "Pod"},
        "note": "hello",
        "deprecatedSource": {"component": "c"},
        "deprecatedFirstTimestamp": "2020-01-01T00:00:00Z",
        "deprecatedLastTimestamp": None,
        "deprecatedCount": 3,
        "eventTime": None,
    }


def test_an_event_comes_back_as_it_was() -> None:
    assert to_core(from_core(CORE)) == CORE


TEXT = st.text(alphabet="ab", max_size=3)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(("reason", "note", "action"), TEXT)))
def test_both_forms_are_in_normal_form(body: dict[str, Any]) -> None:
    newer, core = (
        round_trip_of(Kind("events.k8s.io", "v1", "Event")),
        round_trip_of(Kind("", "v1", "Event")),
    )
    assert newer is not None
    assert core is not None
    event = newer.normal({"kind": "Event", "apiVersion": "events.k8s.io/v1", **body})
    assert core.normal(to_core(event)) == to_core(event)
    assert from_core(to_core(event)) == event
