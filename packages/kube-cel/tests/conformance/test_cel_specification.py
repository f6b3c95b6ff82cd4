"""
Our engine against the CEL specification's own cases.

A case that cannot pass is listed in exceptions.toml with its reason; a listed case that does
pass is a failure as well, so that the list stays true. How many cases passed, were listed or
do not concern us is printed at the end of the run.
"""

import os
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from cel_testing.cases import Case, folder, read_cases, reason_not_applicable
from cel_testing.conduct import verdict

SUBJECT = "tally: CEL specification, cases"
EXCEPTIONS_FILE = Path(__file__).with_name("exceptions.toml")

Record = Callable[[str, object], None]


def _read_exceptions() -> dict[str, str]:
    listed = tomllib.loads(EXCEPTIONS_FILE.read_text(encoding="utf-8"))["exception"]
    return {name: one["reason"] for one in listed for name in one["cases"]}


ALL = list(read_cases(folder()))
APPLICABLE = [case for case in ALL if reason_not_applicable(case) is None]
EXCEPTIONS = _read_exceptions()


def test_the_specification_is_at_hand(record_property: Record) -> None:
    if ALL:
        return
    missing = (
        f"the CEL specification's cases were NOT run: there are none in {folder()} "
        "(CEL_SPEC_DATA names the folder with basic.textproto and the others)"
    )
    if os.environ.get("CI") == "true":
        pytest.fail(missing)
    record_property("notice", missing)
    pytest.skip(missing)


@pytest.mark.parametrize("case", APPLICABLE, ids=lambda case: case.name)
def test_a_case_comes_out_as_specified(case: Case, record_property: Record) -> None:
    difference = verdict(case)
    reason = EXCEPTIONS.get(case.name)
    if reason is None:
        assert difference is None, f"{case.expression}\n{difference}"
        record_property(SUBJECT, "passed")
    else:
        assert difference is not None, f"{case.expression}\npasses, but is listed: {reason}"
        record_property(SUBJECT, f"listed: {reason}")


def test_every_other_case_has_a_reason_not_to_run(record_property: Record) -> None:
    reasons = Counter(filter(None, map(reason_not_applicable, ALL)))
    assert reasons.total() + len(APPLICABLE) == len(ALL)
    for reason, count in reasons.items():
        record_property(SUBJECT, [f"not applicable: {reason}", count])


@pytest.mark.skipif(not ALL, reason="the specification is not at hand")
def test_only_cases_that_exist_and_concern_us_are_listed() -> None:
    assert EXCEPTIONS.keys() <= {case.name for case in APPLICABLE}


@pytest.mark.skipif(not ALL, reason="the specification is not at hand")
def test_no_two_cases_share_a_name() -> None:
    assert len({case.name for case in ALL}) == len(ALL)
