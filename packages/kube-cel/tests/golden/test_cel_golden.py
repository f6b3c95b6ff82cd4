"""
Our engine against what kro made of the same expressions.

The outcomes were recorded from kro's own code. Wanted differences are listed in
differences.toml; a listed expression that no longer differs is a failure too.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from cel_testing.golden import FileError, KnownDifferences, Sample, compare, main, read_file

SUBJECT = "tally: kro's own outcomes, expressions"
FILES = sorted(Path(__file__).parent.glob("cel*.jsonl"))
KNOWN = KnownDifferences.read()

Record = Callable[[str, object], None]


def differing(samples: Iterable[Sample]) -> set[tuple[str, str]]:
    found = (compare(sample) for sample in samples)
    return {(one.sample.scene.name, one.sample.expression) for one in found if one is not None}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_expressions_come_out_as_in_kro(file: Path, record_property: Record) -> None:
    samples = list(read_file(file))
    found = [one for one in map(compare, samples) if one is not None]
    unexplained = [one for one in found if KNOWN.reason(one.sample) is None]
    assert not unexplained, "\n" + "\n".join(map(str, unexplained))
    record_property(SUBJECT, ["equal", len(samples) - len(found)])
    for one in found:
        record_property(SUBJECT, f"listed: {KNOWN.reason(one.sample)}")


def test_every_listed_difference_is_still_one() -> None:
    listed = {expression for _, expression in KNOWN.reasons}
    samples = (sample for file in FILES for sample in read_file(file))
    found = differing(sample for sample in samples if sample.expression in listed)
    found |= {("", expression) for _, expression in found}
    assert KNOWN.reasons.keys() - found == set()


def write(file: Path, *lines: str) -> Path:
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def test_the_script_counts_and_shows_differences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(
        tmp_path / "outcomes.jsonl",
        '{"set": "s", "schemas": {"x": {"type": "integer"}}, "data": {"x": 1}}',
        '{"expr": "x + 1", "outcome": "ok", "type": "int", "value": 2}',
        "",
        '{"expr": "x + 2", "outcome": "ok", "type": "int", "value": 4}',
        '{"expr": "x.y", "outcome": "eval", "error": "no such key: y", "pending": true}',
    )
    assert main([str(file)]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[:3] == [f"{file}:4: x + 2", "  expected ok: int 4", "  actual   ok: int 3"]
    assert printed[3:5] == [f"{file}:5: x.y", "  expected eval (pending): no such key: y"]
    assert printed[-1] == "1 equal, 2 different"


def test_the_script_is_content_when_nothing_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(
        tmp_path / "outcomes.jsonl",
        '{"expr": "0.0 / 0.0", "outcome": "ok", "type": "double", "go": "NaN"}',
        '{"expr": "2.0", "outcome": "ok", "type": "double", "value": 2}',
        '{"expr": "[2]", "outcome": "ok", "type": "list(int)", "value": [2]}',
        '{"expr": "[2, 1]", "outcome": "ok", "type": "list(int)", "value": [1, 2],'
        ' "order": "varies"}',
        '{"expr": "1 +", "outcome": "parse", "error": "ERROR: <input>:1:4: other words"}',
        '{"expr": "size(1)", "outcome": "panic"}',
    )
    assert main([str(file)]) == 0
    assert capsys.readouterr().out == "6 equal, 0 different\n"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        pytest.param("{", "not JSON", id="no JSON"),
        pytest.param("[]", "not an object", id="no object"),
        pytest.param("{}", "neither an expression", id="neither set nor expression"),
        pytest.param('{"expr": "1"}', "the outcome is None", id="no outcome"),
        pytest.param('{"expr": "1", "outcome": "ok"}', "there is no value", id="no value"),
        pytest.param('{"schemas": []}', "must be objects", id="a set without names"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(
    line: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "bad.jsonl", "", line)
    with pytest.raises(FileError, match=complaint):
        list(read_file(file))
    assert main([str(file)]) == 2
    assert f"golden.py: {file}:2: " in capsys.readouterr().err


def test_a_file_that_is_not_there_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "none.jsonl")]) == 2
    assert "cannot be read" in capsys.readouterr().err
