"""Changes of definitions."""

from collections.abc import Callable
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest
from sandbox_testing.crd_recordings import OCCASION, define, established
from sandbox_testing.definitions import definition, spec

from kube_sandbox.apiextensions.customresourcedefinition.strategy import DefinitionStrategy

if TYPE_CHECKING:
    from kube_sandbox.registry.strategy import Strategy

CRD = definition(spec(a={"type": "string"}))
Definition = dict[str, Any]


def changed(
    change: Callable[[Definition], Any], *, subresource: str = "", live: Definition | None = None
) -> tuple[Definition, list[str]]:
    old = live or established(CRD)
    old["metadata"]["resourceVersion"] = "1"
    new = deepcopy(old)
    strategy: Strategy = DefinitionStrategy()
    change(new)
    strategy.default(new)
    strategy.prepare_update(new, old, subresource, OCCASION)
    errors = strategy.validate_update(new, old, subresource, OCCASION)
    return new, [str(error) for error in errors]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"scope": "Cluster"}, 'spec.scope: Invalid value: "Cluster": field is immutable'),
        ({"group": "x.y"}, 'spec.group: Invalid value: "x.y": field is immutable'),
    ],
)
def test_an_established_definition_keeps_what_it_is(change: Definition, told: str) -> None:
    assert changed(lambda crd: crd["spec"].update(change))[1] == [told]


def test_names_that_may_change_are_few() -> None:
    assert changed(lambda crd: crd["spec"]["names"].update(shortNames=["th"]))[1] == []
    assert changed(lambda crd: crd["spec"]["names"].update(kind="Other"))[1] == [
        'spec.names.kind: Invalid value: "Other": field is immutable'
    ]
    assert changed(lambda crd: crd["spec"]["names"].update(plural="others"))[1] == [
        'spec.names.plural: Invalid value: "others": field is immutable'
    ]


def test_a_definition_nobody_serves_yet_may_change_its_scope() -> None:
    new = define(CRD, [])
    assert changed(lambda crd: crd["spec"].update(scope="Cluster"), live=new)[1] == []


def test_a_stored_version_must_remain() -> None:
    def replace(crd: Definition) -> None:
        crd["spec"]["versions"][0]["name"] = "v2"

    new, told = changed(replace)
    assert told == [
        'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was '
        "previously a storage version, and must remain in spec.versions until a storage migration "
        "ensures no data remains persisted in v1 and removes v1 from status.storedVersions"
    ]
    assert new["status"]["storedVersions"] == ["v1", "v2"]


def test_a_change_of_the_spec_is_a_generation() -> None:
    assert changed(lambda _: None)[0]["metadata"]["generation"] == 1
    new, _ = changed(lambda crd: crd["spec"]["names"].update(categories=["all"]))
    assert new["metadata"]["generation"] == 2


def test_the_status_is_written_elsewhere() -> None:
    def change(crd: Definition) -> None:
        crd["status"]["storedVersions"] = ["v1", "v9"]
        crd["spec"]["scope"] = "Cluster"

    new, told = changed(change, subresource="status")
    assert told == []
    assert new["spec"]["scope"] == "Namespaced"
    assert new["status"]["storedVersions"] == ["v1", "v9"]
    assert changed(change)[0]["status"]["storedVersions"] == ["v1"]


def test_accepted_names_must_be_names() -> None:
    def change(crd: Definition) -> None:
        crd["status"]["acceptedNames"]["plural"] = "A"

    (told,) = changed(change, subresource="status")[1]
    assert told.startswith('status.acceptedNames.plural: Invalid value: "A": a DNS-1035 label')


def test_only_formats_that_are_new_are_warned_of() -> None:
    strategy = DefinitionStrategy()
    crd = define(definition(spec(a={"type": "string", "format": "odd"})), [])
    assert strategy.warnings(crd, None) == ['unrecognized format "odd"']
    assert strategy.warnings(crd, crd) == []


def test_what_a_write_does_not_reach_is_nobodys() -> None:
    strategy = DefinitionStrategy()
    assert strategy.reset_fields("") == (("status",),)
    assert strategy.reset_fields("status") == (("metadata",), ("spec",))
