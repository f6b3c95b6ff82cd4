"""
Record what a real API server thinks that validation rules cost.

It tells the cost only of what is too dear, and exactly only of what is little too dear. So a rule
is asked for a list of objects, and the list made as long as it takes to be told six digits.

    python -m tools.recording.rule_costs
"""

import re
from pathlib import Path
from typing import Any

from tools.recording.client import CRDS, Client
from tools.recording.command import TESTS, command_line, run
from tools.recording.custom_cases import definition, spec
from tools.recording.rule_cost_cases import DEFINITIONS, EXPRESSIONS, FIELDS

Json = Any
FILE = TESTS / "apiextensions" / "cel" / "rule_costs.json.gz"
STRICT = "?dryRun=All&fieldValidation=Strict"
_FACTOR = re.compile(r"estimated rule cost exceeds budget by factor of ([\d.]+)x")
_ANY_TYPE = re.compile(r"selfType\d+")
_WANTED = 1.2  # times the limit
_LONGEST = 10_000_000


def record(client: Client) -> dict[Path, Json]:
    """Return all rules and definitions with their answers."""
    rules = [_weigh(client, each) for each in EXPRESSIONS]
    found = [{"crd": crd, "answer": _ask(client, crd)} for crd in DEFINITIONS]
    return {FILE: {"fields": FIELDS, "rules": rules, "definitions": found}}


def _ask(client: Client, crd: Json) -> Json:
    answer = client.ask("POST", f"{CRDS}{STRICT}", crd)
    causes = (answer.body.get("details") or {}).get("causes") or []
    told = [_ANY_TYPE.sub("selfType", f"{e['field']}|{e['reason']}|{e['message']}") for e in causes]
    return {"code": answer.code, **({"causes": sorted(told)} if told else {})}


def _weigh(client: Client, expression: str) -> Json:
    count, answer = 1, _ask(client, _repeated(expression, 1))
    while not answer.get("causes") and count < _LONGEST:
        count *= 90
        answer = _ask(client, _repeated(expression, count))
    told = _FACTOR.search("".join(answer.get("causes", ())))
    if told is not None and count > 1:
        count = max(1, round(count * _WANTED / float(told[1])))
        answer = _ask(client, _repeated(expression, count))
    return {"rule": expression, "count": count, "answer": answer}


def _repeated(expression: str, count: int) -> Json:
    rules = [{"rule": expression}]
    item = {"type": "object", "properties": FIELDS, "x-kubernetes-validations": rules}
    return definition("Weighed", spec(a={"type": "array", "items": item, "maxItems": count}))


def main() -> None:
    """Record."""
    run(record, command_line(__doc__).parse_args())


if __name__ == "__main__":
    main()
