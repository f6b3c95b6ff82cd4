"""
What tests tell beyond pass and fail.

Tests that compare us with others record what they found, and the end of the run shows it:
`record_property("tally: CEL specification", "passed")` is counted, a list `["passed", 3]` counts
three, and `record_property("notice", text)` is shown as it is. Properties reach this place also
from the workers of a distributed run, which prints could not.
"""

from collections import Counter
from typing import Any

import pytest

_TALLY = "tally: "


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the tallies and notices that tests recorded."""
    tallies: dict[str, Counter[str]] = {}
    notices: list[str] = []
    for name, value in _properties(terminalreporter.stats):
        if name == "notice":
            notices.append(value)
        elif name.startswith(_TALLY):
            label, count = (value, 1) if isinstance(value, str) else value
            tallies.setdefault(name.removeprefix(_TALLY), Counter())[label] += count
    if not tallies and not notices:
        return
    terminalreporter.section("compared with others")
    for subject, counts in sorted(tallies.items()):
        terminalreporter.line(f"{subject}: {counts.total()}")
        for label, count in sorted(counts.items()):
            terminalreporter.line(f"{count:8}  {label}")
    for notice in dict.fromkeys(notices):
        terminalreporter.line(f"NOTICE: {notice}", yellow=True, bold=True)


def _properties(stats: dict[str, list[Any]]) -> list[tuple[str, Any]]:
    """Collect what tests recorded; the reports of set-up and tear-down repeat it."""
    found = {
        report.nodeid: report.user_properties
        for reports in stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport)
    }
    return [entry for properties in found.values() for entry in properties]
