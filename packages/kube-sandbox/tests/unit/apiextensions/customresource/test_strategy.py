"""Custom objects: what is written where, versions, generations, warnings."""

from copy import deepcopy
from typing import Any

import pytest
from sandbox_testing.crd_recordings import (
    create,
    established,
    serve,
    strategy_of,
    update,
)
from sandbox_testing.definitions import definition, spec, thing

from kube_sandbox.api_errors import StatusError
from kube_sandbox.apiextensions.served_kinds import served_of

STATUS = {"status": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 5}}}}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {**spec(a={"type": "string"})["properties"], **STATUS},
}
WITH_STATUS = definition(SCHEMA, subresources={"status": {}})


def test_a_status_is_written_only_where_it_is_served() -> None:
    served = serve(WITH_STATUS)
    made = create(served, thing({"a": "x"}, status={"n": 1}), [])
    assert "status" not in made
    told = update(served, thing({"a": "y"}, status={"n": 2}), made, [], "status")
    assert (told["spec"], told["status"]) == ({"a": "x"}, {"n": 2})
    assert told["metadata"]["generation"] == 1
    changed = update(served, thing({"a": "z"}, status={"n": 3}), told, [])
    assert (changed["spec"], changed["status"]) == ({"a": "z"}, {"n": 2})
    assert changed["metadata"]["generation"] == 2


def test_without_a_status_subresource_status_is_a_field_like_others() -> None:
    served = serve(definition(SCHEMA))
    made = create(served, thing(status={"n": 1}), [])
    assert made["status"] == {"n": 1}
    assert update(served, thing(status={"n": 2}), made, [])["metadata"]["generation"] == 2


def test_metadata_is_not_written_with_the_status() -> None:
    served = serve(WITH_STATUS)
    made = create(served, thing(), [])
    new = thing(status={"n": 1})
    new["metadata"]["labels"] = {"a": "b"}
    assert "labels" not in update(served, new, made, [], "status")["metadata"]


def test_labels_do_not_count_as_a_generation() -> None:
    served = serve(WITH_STATUS)
    made = create(served, thing({"a": "x"}), [])
    labelled = thing({"a": "x"})
    labelled["metadata"]["labels"] = {"a": "b"}
    assert update(served, labelled, made, [])["metadata"]["generation"] == 1


def test_errors_of_a_status_name_the_field_below_it() -> None:
    served = serve(WITH_STATUS)
    made = create(served, thing(), [])
    with pytest.raises(StatusError) as refused:
        update(served, thing(status={"n": 9}), made, [], "status")
    assert refused.value.message == (
        'Thing.example.com "one" is invalid: status.n: Invalid value: 9: '
        "n in body should be less than or equal to 5"
    )


def test_what_a_write_does_not_reach_is_nobodys() -> None:
    strategy = strategy_of(serve(WITH_STATUS))
    assert strategy.reset_fields("") == (("status",),)
    assert strategy.reset_fields("status") == (("spec",),)
    assert strategy_of(serve(definition(SCHEMA))).reset_fields("") == ()


SECOND = {
    "name": "v2",
    "served": True,
    "storage": False,
    "schema": {
        "openAPIV3Schema": spec(
            a={"type": "string"}, b={"type": "string"}, two={"type": "string", "default": "2"}
        )
    },
}
TWO = definition(spec(a={"type": "string"}, one={"type": "string", "default": "1"}), SECOND)


def test_only_what_the_storage_version_describes_survives() -> None:
    first, second = served_of(established(TWO))
    body = {"a": "x", "b": "y"}
    made = create(second, thing(body, "v2"), [])
    # The default of the second version is not described by the first, in which it is stored.
    assert (made["apiVersion"], made["spec"]) == ("example.com/v2", {"a": "x"})
    stored = strategy_of(second).stored(deepcopy(made))
    assert stored["apiVersion"] == "example.com/v1"
    assert strategy_of(first).shown(stored)["spec"] == {"a": "x", "one": "1"}


def test_an_object_of_another_kind_is_refused() -> None:
    with pytest.raises(StatusError) as refused:
        create(serve(WITH_STATUS), {**thing(), "kind": "Other"}, [])
    assert refused.value.message.endswith('kind: Invalid value: "Other": must be Thing')


def test_the_author_is_told_of_odd_finalizers_once() -> None:
    served, warnings = serve(WITH_STATUS), list[str]()
    new = thing()
    new["metadata"]["finalizers"] = ["a", "b.c", "d/e"]
    made = create(served, new, warnings)
    assert warnings == [
        'metadata.finalizers: "a": prefer a domain-qualified finalizer name to avoid accidental '
        "conflicts with other finalizer writers",
        'metadata.finalizers: "b.c": prefer a domain-qualified finalizer name including a path (/) '
        "to avoid accidental conflicts with other finalizer writers",
    ]
    warnings.clear()
    update(served, new, made, warnings)
    assert warnings == []


def test_a_rule_about_the_old_value_is_asked_of_changes_only() -> None:
    fixed = {
        "type": "string",
        "maxLength": 5,
        "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "is fixed"}],
    }
    served = serve(definition(spec(a=fixed)))
    made = create(served, thing({"a": "x"}), [])
    update(served, thing({"a": "x"}), made, [])
    with pytest.raises(StatusError, match=r'spec\.a: Invalid value: "y": is fixed'):
        update(served, thing({"a": "y"}), made, [])


def test_a_rule_cannot_keep_the_server_busy() -> None:
    numbers = {"type": "array", "items": {"type": "integer"}, "maxItems": 100}
    loops = "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))"
    costly = {**numbers, "x-kubernetes-validations": [{"rule": loops}]}
    served = serve(definition(spec(a=costly)))
    with pytest.raises(StatusError) as refused:
        create(served, thing({"a": list(range(100))}), [])
    assert refused.value.message == (
        'Thing.example.com "one" is invalid: spec.a: Invalid value: "array": '
        "'operation cancelled: actual cost limit exceeded': no further validation rules "
        f"will be run due to call cost exceeds limit for rule: {loops}"
    )


def test_many_rules_together_cannot_keep_the_server_busy() -> None:
    numbers = {"type": "array", "items": {"type": "integer"}, "maxItems": 900}
    loops = "!self.exists_one(a, self.exists_one(b, false))"
    costly = {**numbers, "x-kubernetes-validations": [{"rule": loops}]}
    names = [f"a{index}" for index in range(20)]
    served = serve(definition(spec(**dict.fromkeys(names, costly))))
    told = "spec.a13: .*: validation failed due to running out of cost budget, no further valid"
    with pytest.raises(StatusError, match=told):
        create(served, thing({name: [1] * 900 for name in names}), [])
