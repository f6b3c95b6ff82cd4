"""
What validation rules cost by the estimate of a real API server (`tools.recording.rule_costs`).

It tells six digits of the cost of most of them.
"""

import gzip
import re
import subprocess
import sys
from functools import cache, partial
from pathlib import Path
from typing import Any

import orjson
import pytest
from sandbox_testing.crd_recordings import OCCASION, answer, define
from sandbox_testing.definitions import definition, spec

from kube_sandbox import api_errors
from kube_sandbox.apiextensions.customresourcedefinition.schema_validation import check_schema
from kube_sandbox.apiextensions.customresourcedefinition.strategy import DefinitionStrategy

_SCHEMA = "spec.validation.openAPIV3Schema"
_GROUPS = 10
_LOOPS = "self.all(x, self.all(y, x == y))"
_OVER = r"rule: Forbidden: estimated rule cost exceeds budget by factor of 1\.\d{6}x \(try simpl"
_ALL_OVER = "estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of"


@cache
def recorded() -> dict[str, Any]:
    packed = Path(__file__).with_name("rule_costs.json.gz").read_bytes()
    found: dict[str, Any] = orjson.loads(gzip.decompress(packed))
    return found


def causes_of(schema: dict[str, Any]) -> list[str]:
    errors = check_schema(schema, _SCHEMA, has_status=False)
    if not errors:
        return []
    told = api_errors.invalid("", "", "", errors).details["causes"]
    return sorted(f"{each['field']}|{each['reason']}|{each['message']}" for each in told)


@pytest.mark.parametrize("group", range(_GROUPS))
def test_a_rule_costs_what_a_real_server_thinks(group: int) -> None:
    for entry in recorded()["rules"][group::_GROUPS]:
        item = {
            "type": "object",
            "properties": recorded()["fields"],
            "x-kubernetes-validations": [{"rule": entry["rule"]}],
        }
        given = spec(a={"type": "array", "items": item, "maxItems": entry["count"]})
        assert causes_of(given) == entry["answer"].get("causes", []), entry["rule"]


@pytest.mark.parametrize("group", range(_GROUPS))
def test_the_rules_of_a_definition_cost_what_a_real_server_thinks(group: int) -> None:
    for entry in recorded()["definitions"][group::_GROUPS]:
        found = answer(partial(define, entry["crd"]))
        assert {key: found[key] for key in ("code", "causes") if key in found} == entry["answer"]


def test_the_recording_is_whole() -> None:
    told = [each for entry in recorded()["rules"] for each in entry["answer"].get("causes", ())]
    assert len(re.findall(r"factor of 1\.\d{6}x", "".join(told))) > 350
    assert len(recorded()["rules"]) > 390
    assert len(recorded()["definitions"]) > 50


def ruled(count: int, lists: int = 1) -> dict[str, Any]:
    """Make a stored definition whose rules cost much."""
    numbers = {"type": "array", "items": {"type": "integer"}, "maxItems": count}
    dear = {**numbers, "x-kubernetes-validations": [{"rule": _LOOPS}]}
    crd = definition(spec(**{f"a{index}": dear for index in range(lists)}))
    strategy = DefinitionStrategy()
    strategy.decode(crd)
    strategy.default(crd)
    strategy.prepare_create(crd, OCCASION)
    crd["metadata"].update(uid="some", creationTimestamp="2026-01-01T00:00:00Z")
    crd["metadata"]["resourceVersion"] = "1"
    return crd


def changes(new: dict[str, Any], old: dict[str, Any]) -> str:
    found = DefinitionStrategy().validate_update(new, old, "", OCCASION)
    return "\n".join(map(str, found))


def test_rules_that_are_stored_may_stay() -> None:
    stored = ruled(1500)
    assert not changes(ruled(1500), stored)
    assert re.search(_OVER, changes(ruled(1501), stored))


def test_rules_that_are_stored_may_stand_in_another_version() -> None:
    stored, new = ruled(1500), ruled(1500)
    another = {**new["spec"]["versions"][0], "name": "v2", "storage": False}
    new["spec"]["versions"] = [another, *new["spec"]["versions"]]
    assert not changes(new, stored)
    changed = ruled(1501)["spec"]["versions"][0]
    new["spec"]["versions"] = [another, changed]
    found = changes(new, stored)
    assert re.search(rf"spec\.versions\[1\].*{_OVER}", found)
    assert "spec.versions[0]" not in found


def test_rules_that_are_stored_may_not_cost_too_much_together() -> None:
    found = changes(ruled(1500, lists=20), ruled(1500, lists=20))
    assert _ALL_OVER in found
    assert found.count("contributed to") == 4
    assert "estimated rule cost exceeds" not in found


def test_definitions_without_rules_do_not_load_the_expression_engine() -> None:
    program = (
        "import sys\n"
        "from kube_sandbox.apiextensions.customresourcedefinition import schema_validation\n"
        "schema_validation.check_schema({'type': 'object'}, 'spec', has_status=False)\n"
        "sys.exit(any(name.startswith('kube_cel') for name in sys.modules))\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
