"""Every row of the corpus, read between walls, ends in time and in what its row says."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from objects_testing.budgets import examples

from tests.git_repositories import GitRepository
from tests.git_servers import HttpServer
from tests.hostile.confinement import MEMORY, Outcome, Question, confined
from tests.hostile.corpus import REFS, ROWS, URLS, Row
from tests.hostile.endless import endless_server
from tests.hostile.stage import Stage, config_map

pytestmark = pytest.mark.timeout(examples(180))

MAIN = {"branch": "main"}
REFUSALS = ("bad-ref", "bad-commit", "bad-semver", "no-matching-version", "ref-not-found")


@pytest.fixture
def stage(git_root: Path, git_http: HttpServer, tmp_path: Path) -> Iterator[Stage]:
    """Give an empty repository behind a server, and traps around it; none may be sprung."""
    made = Stage(GitRepository.create(git_root / "app.git"), git_http, tmp_path)
    yield made
    assert not made.marker.exists(), "a command of the repository's was run"


def follow(stage: Stage, questions: Sequence[Question]) -> list[Outcome]:
    """Read repositories between walls; the canary must not be seen."""
    canary = stage.set_traps()
    outcomes = confined(questions, stage.folder / "mirrors")
    for outcome in outcomes:
        assert canary not in outcome.printed, "a file outside the repository was read"
        assert outcome.kib << 10 < MEMORY
        assert all(text.isprintable() for text in outcome.shown), "a terminal would obey it"
    return outcomes


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_hostile_repository_ends_as_its_row_says(row: Row, stage: Stage) -> None:
    row.build(stage)
    (outcome,) = follow(stage, [Question(stage.url, row.ref)])
    assert outcome.error == row.error
    if not row.error:
        assert outcome.report["manifests"] == row.manifests
    if row.finding:
        assert (row.finding, row.file, row.line) in outcome.findings


def test_hostile_refs_are_refused(stage: Stage) -> None:
    stage.commit(config_map("bad"))
    written = [
        {name: value.replace("{command}", stage.command) for name, value in ref.items()}
        for ref in REFS
    ]
    outcomes = follow(stage, [Question(stage.url, ref) for ref in written])
    accepted = [
        (ref, outcome.report)
        for ref, outcome in zip(REFS, outcomes, strict=True)
        if outcome.error not in REFUSALS
    ]
    assert accepted == []


def test_hostile_urls_are_refused_before_anybody_is_asked(stage: Stage) -> None:
    stage.commit(config_map("bad"))
    canary = str(stage.canary)
    questions = [
        Question(
            url.replace("{command}", stage.command).replace("{canary}", canary), MAIN, local=False
        )
        for url, _ in URLS
    ]
    outcomes = follow(stage, questions)
    wrong = [
        (url, code, outcome.report)
        for (url, code), outcome in zip(URLS, outcomes, strict=True)
        if (outcome.error, outcome.report["stage"] in ("url", "ask")) != (code, True)
    ]
    assert wrong == []
    assert "pl4nted-s3cret" not in outcomes[0].printed
    assert stage.server.count() == 0


@pytest.mark.parametrize(
    "address",
    ["http://169.254.169.254", "http://[::ffff:a9fe:a9fe]", "https://evil.example", "ext::sh -c"],
)
def test_a_redirect_leads_nowhere(address: str, stage: Stage) -> None:
    stage.commit(config_map("bad"))
    stage.server.redirect_to(address)
    (outcome,) = follow(stage, [Question(stage.url, MAIN)])
    assert outcome.error == "git-redirected"


def test_a_server_that_never_ends_its_remarks_is_left(stage: Stage) -> None:
    with endless_server("remarks") as url:
        (outcome,) = follow(stage, [Question(url, MAIN, seconds=4)])
    assert outcome.error in ("git-timeout", "git-too-large", "git-failed")
    assert outcome.seconds < 15


@pytest.mark.parametrize("how", ["abilities", "refs"])
def test_endless_refs_cost_little_memory(how: str, stage: Stage) -> None:
    with endless_server(how) as url:
        (outcome,) = follow(stage, [Question(url, MAIN)])
    assert outcome.error == "git-too-many-refs"
    assert "ref.branch" in outcome.report["error"][3]
    assert outcome.report["git_kib"] < 160 << 10
