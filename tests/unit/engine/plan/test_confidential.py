"""No message about an expression quotes the value of a Secret."""

from typing import Any

import pytest

from kro_gitops.preview.render import render
from kro_gitops.preview.sample_data import LiveData
from tests.builders import built, config_map, definition, graph, instance, resource

CANARY = "canary-7c9e"


def secret(**data: str) -> dict[str, Any]:
    metadata = {"name": "${schema.metadata.name}"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}


def external(name: str = "login") -> dict[str, Any]:
    reference = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}}
    return {"id": name, "externalRef": reference}


def failures(obj: dict[str, Any], spec: dict[str, Any] | None = None) -> list[str]:
    given = {"login": {"data": {"token": CANARY, "date": CANARY}}, "own": {"data": {"x": CANARY}}}
    rendering = render(graph(obj), instance(spec), LiveData(by_node=given))
    assert rendering.failures
    return [f"{failure.text} {failure.hint}" for failure in rendering.failures]


@pytest.mark.parametrize(
    "text",
    [
        "${string(timestamp(string(login.data.token)))}",
        "${{'a': 'b'}[string(login.data.token)]}",
        "${string(int(string(login.data.token)))}",
        "${string(duration(string(login.data.token)))}",
        "${string(quantity(string(login.data.token)).asInteger())}",
        "${url(string(login.data.token)).getHost()}",
        "${[1, 2][int(string(login.data.token))] == 1 ? 'a' : 'b'}",
        "${'x'.matches(string(login.data.token) + '(') ? 'a' : 'b'}",
    ],
)
def test_an_error_hides_what_was_read_of_a_secret(text: str) -> None:
    obj = definition(external(), resource("cm", config_map(v=text)))
    assert CANARY not in str(failures(obj))


@pytest.mark.parametrize("condition", ["includeWhen", "readyWhen"])
def test_conditions_hide_it_too(condition: str) -> None:
    if condition == "includeWhen":
        text = "${timestamp(string(login.data.token)) > timestamp('2020-01-01T00:00:00Z')}"
        obj = definition(external(), resource("cm", includeWhen=[text]))
    else:
        text = "${timestamp(string(own.data.x)) > timestamp('2020-01-01T00:00:00Z')}"
        obj = definition(resource("own", secret(x="y"), readyWhen=[text]))
    assert CANARY not in str(failures(obj))


def test_an_error_hides_fields_of_the_instance_that_become_data_of_a_secret() -> None:
    obj = definition(
        resource("own", secret(date="${string(timestamp(schema.spec.login.date))}")),
        resource("cm", config_map("x", v="${string(timestamp(schema.spec.login.date))}")),
        spec={"login": {"date": "string"}},
    )
    found = failures(obj, {"login": {"date": CANARY}})
    assert len(found) == 2
    assert CANARY not in str(found)
    assert "Secret" in found[0]


def test_iterated_lists_that_become_data_of_a_secret_are_hidden() -> None:
    own = secret(date="${string(timestamp(day))}")
    own["metadata"] = {"name": "${schema.metadata.name}-${day}"}
    obj = definition(
        resource("own", own, forEach=[{"day": "${schema.spec.days}"}]), spec={"days": "[]string"}
    )
    assert CANARY not in str(failures(obj, {"days": [CANARY]}))


def test_texts_of_a_template_of_a_secret_are_hidden() -> None:
    url = f"https://me:{CANARY}@${{string(timestamp(schema.spec.date))}}"
    obj = definition(resource("own", secret(url=url)), spec={"date": "string"})
    assert CANARY not in str(failures(obj, {"date": "today"}))


@pytest.mark.parametrize(
    "text",
    [
        f"https://me:{CANARY}@${{schema.spec.nothing}}",
        f'${{"{CANARY}" + 1}}',
        f"${{'{CANARY}' + }}",
        f"${{schema.spec.number + '{CANARY}'}}",
        f"${{'x'.matches('{CANARY}(')}}",
    ],
)
def test_a_template_of_a_secret_that_does_not_compile_is_not_quoted(text: str) -> None:
    obj = definition(resource("own", secret(url=text)), spec={"number": "integer"})
    problems = built(obj).problems
    assert problems
    assert CANARY not in str([(p.summary, p.message, p.hint) for p in problems])


def test_what_the_expression_says_itself_is_shown() -> None:
    (found,) = failures(
        definition(external(), resource("cm", config_map(v="${string(login.data.nope)}")))
    )
    assert "no such key: nope" in found


def test_other_errors_are_quoted_as_before() -> None:
    text = "${string(timestamp(schema.spec.date))}"
    obj = definition(resource("cm", config_map(v=text)), spec={"date": "string"})
    assert "today" in str(failures(obj, {"date": "today"}))
