import pytest

from kro_gitops.errors import UserError
from kro_gitops.inspect.provenance.field_names import (
    Item,
    Resolved,
    format_steps,
    near_names,
    parse_field,
    resolve,
)

OBJECT = {
    "metadata": {"labels": {"app.kubernetes.io/name": "x", "app": "y"}},
    "spec": {"containers": [{"name": "web", "port": 80}, {"name": "side", "tls": True}]},
    "data": {"app.properties": "a", "LOG_LEVEL": "info", "0": "zero"},
}


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("spec.containers[0].name", ("spec", "containers", 0, "name")),
        (".spec.containers[1].name", ("spec", "containers", 1, "name")),
        ("spec.containers[name=side].name", ("spec", "containers", 1, "name")),
        ("spec.containers[name='side'].name", ("spec", "containers", 1, "name")),
        ("spec.containers[port=80].name", ("spec", "containers", 0, "name")),
        ("spec.containers[name=side,tls=true]", ("spec", "containers", 1)),
        ("spec.containers.side.name", ("spec", "containers", 1, "name")),
        ("data.app.properties", ("data", "app.properties")),
        ('data["app.properties"]', ("data", "app.properties")),
        ("data['app.properties']", ("data", "app.properties")),
        ("data[app.properties]", ("data", "app.properties")),
        ("data[0]", ("data", "0")),
        ("metadata.labels.app", ("metadata", "labels", "app")),
        (
            "metadata.labels.app.kubernetes.io/name",
            ("metadata", "labels", "app.kubernetes.io/name"),
        ),
    ],
)
def test_words_lead_to_a_field(text: str, path: tuple[str | int, ...]) -> None:
    assert resolve(parse_field(text), OBJECT) == Resolved(path)


@pytest.mark.parametrize(
    ("text", "path", "rest"),
    [
        ("spec.replicas", ("spec",), ("replicas",)),
        ("spec.containers[2].name", ("spec", "containers"), (2, "name")),
        ("spec.containers[name=no]", ("spec", "containers"), (Item((("name", "no"),)),)),
        ("data.LOG_LEVEL.more", ("data", "LOG_LEVEL"), ("more",)),
        ("nothing", (), ("nothing",)),
    ],
)
def test_words_that_lead_nowhere(
    text: str, path: tuple[str | int, ...], rest: tuple[str | int, ...]
) -> None:
    found = resolve(parse_field(text), OBJECT)
    assert (found.path, found.rest, found.is_there) == (path, rest, False)


@pytest.mark.parametrize("text", ["", ".", "a..b", "a.", "a[", "a[]", "a]b", "a[b", "[=x]"])
def test_what_is_no_field(text: str) -> None:
    with pytest.raises(UserError) as raised:
        parse_field(text)
    assert raised.value.code == "invalid-field"


@pytest.mark.parametrize(
    "text", ["a.b[0].c", "a[name=web].b", 'labels["a.b/c"]', "x", "a[0][1]", "a[k=1,l=2]"]
)
def test_steps_are_printed_as_they_are_written(text: str) -> None:
    assert format_steps(parse_field(text)) == text


def test_near_names() -> None:
    assert near_names({"replicas": 1, "selector": 2}, "replcas")[0] == "replicas"
    assert near_names(OBJECT["spec"]["containers"], 7) == ("[name=web]", "[name=side]")  # type: ignore[index]  # plain data
    assert near_names([1, 2], 7) == ("[0]", "[1]")
    assert near_names("text", "more") == ()
