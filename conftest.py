"""
What tests tell beyond pass and fail, and the files they compare with.

Tests that compare us with others record what they found, and the end of the run shows it:
`record_property("tally: CEL specification", "passed")` is counted, a list `["passed", 3]` counts
three, and `record_property("notice", text)` is shown as it is. Properties reach this place also
from the workers of a distributed run, which prints could not.

`--update-golden` writes the files below `tests/golden` anew; the difference is for review.
"""

import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

pytest_plugins = ("tests.git_fixtures",)

_TALLY = "tally: "
_GOLDEN = Path(__file__).parent / "tests" / "golden"

# How long an example takes says something about what else the machine does; a test that hangs
# meets the limit that all tests have.
settings.register_profile("kro-gitops", deadline=None)
settings.load_profile("kro-gitops")


def pytest_configure() -> None:
    """Have Ctrl-C as programs have it: where a shell runs us in the background, it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our option."""
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give generated tests the time their larger budgets need."""
    if not os.environ.get("KRO_GITOPS_TESTS"):
        return
    for item in items:
        if item.path.parent.name in ("property", "differential"):
            item.add_marker(pytest.mark.timeout(1800))


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Give a function that compares a text with a golden file, or writes the file anew."""

    def compare(name: str, text: str) -> None:
        path = _GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{name} does not exist: run pytest --update-golden"
        assert text == path.read_text(encoding="utf-8")

    return compare


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
