"""Label and field selectors, replayed against what a real API server answered."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sandbox_testing.patch_recordings import recorded

from kube_objects.refs import Kind, KubeObject
from kube_sandbox.api_errors import StatusError
from kube_sandbox.registry.selectable_fields import CustomFields
from kube_sandbox.registry.selectors import FieldSelector, parse_fields, parse_labels

NAMESPACE = "f-recorded-patches"
THING = Kind("recorded.f.example.com", "v1", "Thing")
CONFIG_MAP = Kind("", "v1", "ConfigMap")


def unread() -> KubeObject:
    """Fail, since an object need not be read to know its name."""
    raise AssertionError("the object was read")


def answer(ask: Callable[[], bool]) -> Any:
    """Return what is answered, or the message of the refusal."""
    try:
        return ask()
    except StatusError as error:
        return error.message if (error.code, error.reason) == (400, "BadRequest") else error


def test_label_selectors_are_read_as_by_a_real_api_server() -> None:
    for text, expected in recorded()["labels"].items():
        found = answer(lambda text=text: parse_labels(text).matches({"x": "y"}))  # type: ignore[misc]
        assert found == expected, text


def field_answer(text: str, kind: Kind, custom: CustomFields | None = None) -> Any:
    """Ask with a field selector for the one object that there is."""
    return answer(
        lambda: parse_fields(text, kind, custom=custom).matches(NAMESPACE, "thing", unread)
    )


def test_field_selectors_are_read_as_by_a_real_api_server() -> None:
    for text, expected in recorded()["plain"].items():
        assert field_answer(text, CONFIG_MAP) == expected, text
    for text, expected in recorded()["custom"].items():
        assert field_answer(text, THING, CustomFields(is_namespaced=True)) == expected, text


def test_kinds_have_the_fields_and_refusals_of_a_real_api_server() -> None:
    for name, asked in recorded()["kinds"].items():
        group, version, kind = name.rsplit("/", 2)
        for field, expected in asked.items():
            try:
                parse_fields(f"{field}=none", Kind(group, version, kind))
                found: Any = False
            except StatusError as error:
                found = error.message
            assert found == expected, (name, field)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [({"n": "6"}, True), ({"n": "5"}, False), ({"n": "x"}, False), ({}, False)],
)
def test_numbers_in_labels_are_compared(labels: dict[str, str], expected: bool) -> None:
    assert parse_labels("n>5").matches(labels) is expected
    assert parse_labels("n<7,n>5").matches(labels) is expected


POD: KubeObject = {
    "metadata": {"name": "p", "namespace": "n"},
    "spec": {"nodeName": "node", "restartPolicy": "Always"},
    "status": {"phase": "Running", "podIPs": [{"ip": "10.1.2.3"}]},
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("status.phase=Running", True),
        ("status.phase!=Running", False),
        ("spec.nodeName=node,metadata.name=p", True),
        ("spec.host=node", True),
        ("spec.hostNetwork=false", True),
        ("status.podIP=10.1.2.3", True),
        ("status.podIPs=10.1.2.3", False),
        ("spec.schedulerName=", True),
    ],
)
def test_fields_of_a_pod(text: str, expected: bool) -> None:
    asked = parse_fields(text, Kind("", "v1", "Pod"))
    assert asked.matches("n", "p", lambda: POD) is expected


def test_numbers_and_truths_are_texts_to_a_field_selector() -> None:
    job = parse_fields("status.successful=0", Kind("batch", "v1", "Job"))
    assert job.matches("n", "j", dict)
    node = parse_fields("spec.unschedulable=true", Kind("", "v1", "Node"))
    assert node.matches("", "n", lambda: {"spec": {"unschedulable": True}})
    custom = CustomFields(is_namespaced=True, paths=(".spec.size", ".spec.on"))
    thing = parse_fields("spec.size=3,spec.on=true", THING, custom=custom)
    assert thing.matches("n", "t", lambda: {"spec": {"size": 3, "on": True}})


def test_a_selector_for_one_name_says_so() -> None:
    assert parse_fields("metadata.name=a", CONFIG_MAP).name == "a"
    assert parse_fields("metadata.name!=a", CONFIG_MAP).name is None
    assert FieldSelector().name is None


@given(st.text("ab,=\\!", max_size=6))
def test_any_value_can_be_asked_for_once_it_is_escaped(value: str) -> None:
    escaped = "".join(f"\\{each}" if each in "\\,=" else each for each in value)
    asked = parse_fields(f"metadata.name={escaped}", CONFIG_MAP)
    assert asked.matches("", value, unread)


WORDS = st.text("abc", min_size=1, max_size=3).filter(lambda each: each not in ("in", "notin"))


@given(WORDS, st.lists(WORDS, min_size=1, max_size=3), st.dictionaries(WORDS, WORDS))
def test_in_and_notin_are_opposites(key: str, values: list[str], labels: dict[str, str]) -> None:
    listed = f"({','.join(values)})"
    inside = parse_labels(f"{key} in {listed}").matches(labels)
    assert inside is not parse_labels(f"{key} notin {listed}").matches(labels)
    assert inside is (labels.get(key) in values)


@given(st.text("ab!=(),<> \n-", max_size=10))
def test_any_text_is_read_or_refused(text: str) -> None:
    assert isinstance(answer(lambda: parse_labels(text).matches({"a": "b"})), bool | str)
