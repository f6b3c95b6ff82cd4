"""
Compare our CEL engine with outcomes of kro: ``golden.py FILE...``.

A file holds JSON lines, as ``oracle cel`` writes them. A line with ``schemas`` opens a set: the
variables, their schemas and their data for the expressions below it. Any other line is an
expression with what kro made of it: the stage at which it ended (``outcome``: parse, check,
build, eval, convert or ok), its type, its value or its error, and whether kro would wait for
more data (``pending``).

Intended differences are listed, with their reasons, in differences.toml beside the recorded
cases of ../golden; all others are printed. The exit status is 0 if there
are none, 1 if there are, 2 if a file cannot be read.
"""

import argparse
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kube_cel.checker import check
from kube_cel.environment import Environment
from kube_cel.issues import CheckError, ParseError
from kube_cel.parser import parse
from kube_cel.program import compile_program
from kube_cel.types import DYN
from kube_cel.values import OMIT, RUNTIME, BuildError, ConversionError, EvaluationError
from kube_objects.go_numbers import format_double
from kube_objects.go_text import quote

KNOWN_DIFFERENCES = Path(__file__).parents[1] / "golden" / "differences.toml"

STAGES = ("parse", "check", "build", "eval", "convert", "ok")
UNANSWERED = ("panic", "timeout")
"""Outcomes by which kro gave up: there is nothing to compare with."""

_POSITION = re.compile(r"ERROR: <input>:(-?\d+):(\d+): (Syntax error)?")


class FileError(Exception):
    """A file that is not in the format."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    What became of an expression.

    `value` is JSON; `go` is what it looks like in Go where JSON cannot hold it (NaN, omit()).
    """

    stage: str
    type: str = ""
    value: Any = None
    go: str = ""
    error: str = ""
    pending: bool = False
    varies: bool = False

    def __str__(self) -> str:
        shown = self.go or json.dumps(self.value, ensure_ascii=False)
        details = shown if self.stage == "ok" else self.error
        marks = f"{' (pending)' if self.pending else ''}{' (order varies)' if self.varies else ''}"
        return " ".join(filter(None, (f"{self.stage}{marks}:", self.type, details)))


@dataclass(frozen=True, slots=True)
class Scene:
    """A set: what its expressions can see."""

    name: str
    environment: Environment
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sample:
    """One line: an expression, where it runs, and what kro made of it."""

    place: str
    scene: Scene
    expression: str
    expected: Outcome


@dataclass(frozen=True, slots=True)
class Difference:
    """A sample that came out differently."""

    sample: Sample
    actual: Outcome

    def __str__(self) -> str:
        lines = (
            f"{self.sample.place}: {self.sample.expression}",
            f"  expected {self.sample.expected}",
            f"  actual   {self.actual}",
        )
        return "\n".join(line.replace("\n", "\n           ") for line in lines)


def read_file(path: Path) -> Iterator[Sample]:
    """Read the samples of a file; raise `FileError` for what is no sample."""
    scene = Scene("", Environment.kro(), {"runtime": RUNTIME})
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: cannot be read: {error}") from error
    for number, text in enumerate(lines, 1):
        place = f"{path}:{number}"
        if not text.strip():
            continue
        try:
            line = json.loads(text)
        except ValueError as error:
            raise FileError(f"{place}: not JSON: {error}") from None
        if not isinstance(line, dict):
            raise FileError(f"{place}: not an object")
        if "expr" in line:
            yield Sample(place, scene, line["expr"], _read_outcome(place, line))
        elif "schemas" in line:
            scene = _read_scene(place, line)
        else:
            raise FileError(f"{place}: neither an expression (expr) nor a set (schemas)")


def _read_scene(place: str, line: dict[str, Any]) -> Scene:
    schemas, data = ({} if line.get(key) is None else line[key] for key in ("schemas", "data"))
    if not isinstance(schemas, dict) or not isinstance(data, dict):
        raise FileError(f"{place}: schemas and data must be objects")
    untyped = {name: DYN for name in data if name not in schemas}
    environment = Environment.kro().extend(schemas, untyped)
    return Scene(line.get("set", ""), environment, {"runtime": RUNTIME, **data})


def _read_outcome(place: str, line: dict[str, Any]) -> Outcome:
    stage = line.get("outcome")
    if stage not in STAGES and stage not in UNANSWERED:
        raise FileError(f"{place}: the outcome is {stage!r}, not one of {', '.join(STAGES)}")
    if stage == "ok" and "value" not in line and "go" not in line:
        raise FileError(f"{place}: the outcome is ok, but there is no value")
    return Outcome(
        stage,
        type=line.get("type", ""),
        value=line.get("value"),
        go=line.get("go", ""),
        error=line.get("error", ""),
        pending=line.get("pending", False),
        varies=line.get("order") == "varies",
    )


def observe(expression: str, scene: Scene) -> Outcome:
    """Run an expression through our engine."""
    try:
        tree = parse(expression)
    except ParseError as error:
        return Outcome("parse", error=str(error))
    try:
        found = str(check(tree, scene.environment, expression))
    except CheckError as error:
        return Outcome("check", error=str(error))
    try:
        program = compile_program(tree, scene.environment, expression)
    except BuildError as error:
        return Outcome("build", found, error=str(error))
    try:
        value = program.evaluate(scene.data)
    except EvaluationError as error:
        return Outcome("eval", found, error=str(error), pending=error.pending)
    except ConversionError as error:
        return Outcome("convert", found, error=str(error))
    return Outcome("ok", found, value=value)


def compare(sample: Sample) -> Difference | None:
    """Run a sample's expression and compare with what kro made of it."""
    try:
        actual = observe(sample.expression, sample.scene)
    except Exception as error:  # our bug: a difference like others, not the end of the run
        actual = Outcome("crash", error=f"{type(error).__name__}: {error}")
    return None if _agree(sample.expected, actual) else Difference(sample, actual)


def _agree(expected: Outcome, actual: Outcome) -> bool:
    if expected.stage in UNANSWERED:
        return True
    if expected.stage != actual.stage or expected.pending != actual.pending:
        return False
    if expected.stage == "parse":  # the words after the position are ANTLR's
        return _first_position(expected.error) == _first_position(actual.error)
    if expected.type != actual.type:
        return False
    if expected.stage != "ok":
        return expected.varies or expected.error == actual.error
    if expected.go:
        return expected.go == format_go(actual.value)
    if expected.varies:
        return same_json(_sorted(expected.value), _sorted(actual.value))
    return same_json(expected.value, actual.value)


def _first_position(error: str) -> tuple[int, int]:
    """
    Return line and column of the first error.

    After a syntax error, cel-go goes on to complain of macros in a tree that nobody wrote, and
    sorts these complaints in between: syntax errors come first here.
    """
    errors = sorted(
        (not syntax, int(line), int(column)) for line, column, syntax in _POSITION.findall(error)
    )
    return errors[0][1:] if errors else (0, 0)


def same_json(expected: Any, actual: Any) -> bool:
    """Compare what JSON shows: 2 and 2.0 are the same there, 1 and true are not."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return expected.keys() == actual.keys() and all(
            same_json(value, actual[key]) for key, value in expected.items()
        )
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(map(same_json, expected, actual))
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(actual, float) and isinstance(expected, int | float):
        return float(expected) == actual
    return type(expected) is type(actual) and bool(expected == actual)


def _sorted(value: Any) -> Any:
    """Make values equal that differ only in an order: of elements, of parts of a text."""
    if isinstance(value, dict):
        return {key: _sorted(child) for key, child in value.items()}
    if isinstance(value, list):
        return sorted(map(_sorted, value), key=lambda child: json.dumps(child, sort_keys=True))
    return "".join(sorted(value)) if isinstance(value, str) else value


def format_go(value: Any) -> str:
    """Print a value as Go's ``%#v`` does."""
    if isinstance(value, dict):
        entries = (f"{quote(key)}:{_format_inner(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{', '.join(entries)}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_format_inner, value))}}}"
    if value is OMIT:
        return "sentinels.Omit{}"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return format_double(value) if isinstance(value, float) else str(value)


def _format_inner(value: Any) -> str:
    return "interface {}(nil)" if value is None else format_go(value)


class KnownDifferences:
    """The wanted differences: expressions, in all sets or in one, with a reason."""

    def __init__(self, entries: Iterable[dict[str, Any]]) -> None:
        self.reasons: dict[tuple[str, str], str] = {
            (entry.get("set", ""), expression): entry["reason"]
            for entry in entries
            for expression in entry["expressions"]
        }

    @classmethod
    def read(cls, path: Path = KNOWN_DIFFERENCES) -> "KnownDifferences":
        """Read the table."""
        return cls(tomllib.loads(path.read_text(encoding="utf-8"))["difference"])

    def reason(self, sample: Sample) -> str | None:
        """Say why a sample may differ, if it may."""
        everywhere = self.reasons.get(("", sample.expression))
        return self.reasons.get((sample.scene.name, sample.expression), everywhere)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare files; print the differences and how many there are."""
    parser = argparse.ArgumentParser(description="compare our CEL engine with outcomes of kro")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="outcomes, JSON lines")
    files = parser.parse_args(arguments).files
    known = KnownDifferences.read()
    equal, listed, different = 0, 0, 0
    try:
        for sample in (sample for file in files for sample in read_file(file)):
            difference = compare(sample)
            if difference is None:
                equal += 1
            elif known.reason(sample):
                listed += 1
            else:
                different += 1
                print(difference)
    except FileError as error:
        print(f"golden.py: {error}", file=sys.stderr)
        return 2
    if listed:
        print(f"{listed} known differences, for the reasons in {KNOWN_DIFFERENCES.name}")
    print(f"{equal} equal, {different} different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
