"""
A second opinion: the CEL project's own C++ engine.

It has a checker, so that types, values and the words of type errors must agree; of syntax
errors only the position, of run-time errors only that there is one. Where they do not agree,
differences.toml says who is right. It runs in a process of its own (see `cpp_engine`).
"""

import os
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from cel_testing.cel_grammar import Grammar
from cel_testing.cpp_engine import DIED, Answer, NotAvailableError, ask, interpreter
from cel_testing.opinions import (
    Disagreement,
    Opinion,
    our_opinion,
    read_explanations,
    read_expressions,
)

ENGINE = "cel-cpp"
SUBJECT = f"tally: {ENGINE}, expressions"
EXPLANATIONS = read_explanations(ENGINE)
GENERATED = 40_000 if os.environ.get("KRO_GITOPS_TESTS") == "full" else 4_000
SEED = 1

Record = Callable[[str, object], None]

# Functions that Kubernetes and kro add to the language, or that are missing there.
_NOT_THEIRS = re.compile(
    r"uantity|emver|\bcidr|CIDR|\bip\b|isIP|\burl|URL|\.(sum|min|max|merge|deepMerge|sign)\("
    r"|isSorted|\.find|\bjson\.|\bhash\.|\brandom\.|AtIndex|\bomit\(|\bruntime\b|unwrap|transformMap"
)


@pytest.fixture
def python(record_property: Record) -> Path:
    try:
        return interpreter()
    except NotAvailableError as error:
        missing = f"the C++ engine of CEL was NOT asked for a second opinion: {error}"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        record_property("notice", missing)
        pytest.skip(missing)


@pytest.mark.timeout(600)
def test_expressions_agree_or_differ_for_a_reason(python: Path, record_property: Record) -> None:
    expressions = [*read_expressions(), *generate(GENERATED)]
    found = list(find_disagreements(python, expressions))
    unexplained = [one for one in found if one.reason(EXPLANATIONS) is None]
    assert not unexplained, f"\n{len(unexplained)} of {len(expressions)}:\n" + "\n".join(
        map(str, unexplained)
    )
    record_property(SUBJECT, ["agree", len(expressions) - len(found)])
    for reason, count in Counter(one.reason(EXPLANATIONS) for one in found).items():
        record_property(SUBJECT, [f"differ: {reason}", count])


@pytest.mark.timeout(600)
def test_what_is_explained_still_differs(python: Path) -> None:
    examples = [(example, one) for one in EXPLANATIONS for example in one.examples]
    found = {
        one.expression: one for one in find_disagreements(python, [text for text, _ in examples])
    }
    for example, explanation in examples:
        assert example in found, f"{example} no longer differs"
        assert found[example].reason([explanation]), f"{explanation}: {found[example]}"


def generate(count: int) -> Iterator[str]:
    """Make expressions of what both engines know; types are wrong in one out of four."""
    source = random.Random(SEED)
    grammar = Grammar(source, {})
    seen: set[str] = set()
    while len(seen) < count:
        made = grammar.expression(source.randint(1, 4))
        if source.random() < 0.25:
            made = spoil(made, source)
        if made not in seen and not _NOT_THEIRS.search(made):
            seen.add(made)
            yield made


_LITERAL = re.compile(r"b?'[^']*'|\b\d+(?:\.\d+)?u?\b|\btrue\b|\bfalse\b")
_OTHERS = ("1", "'a'", "true", "1.5", "2u", "[1]", "{'a': 1}", "b'a'", "duration('1s')")


def spoil(expression: str, source: random.Random) -> str:
    """Put a literal in the place of another, as like as not of another type."""
    places = list(_LITERAL.finditer(expression))
    if not places:
        return expression
    place = source.choice(places)
    return f"{expression[: place.start()]}{source.choice(_OTHERS)}{expression[place.end() :]}"


def find_disagreements(python: Path, expressions: Sequence[str]) -> Iterator[Disagreement]:
    for expression, answer in zip(expressions, ask(python, expressions), strict=True):
        ours = our_opinion(expression)
        theirs = read_answer(answer, ours)
        if not agree(ours, theirs):
            yield Disagreement(expression, ours, theirs)


def read_answer(answer: Answer, ours: Opinion) -> Opinion:
    """Make an opinion of an answer; whether the parser refused or the checker, it does not say."""
    if answer == DIED:
        return Opinion("died", error="the process ended")
    if "refused" in answer:
        return Opinion("parse" if ours.stage == "parse" else "check", error=answer["refused"])
    if "error" in answer:
        return Opinion("eval", ours.type, error=answer["error"])
    if "unreadable" in answer:
        return Opinion("unreadable", error=answer["unreadable"])
    return Opinion("ok", answer["type"], answer["value"])


def agree(ours: Opinion, theirs: Opinion) -> bool:
    if ours.stage == theirs.stage == "parse":
        return errors_in(ours.error)[0][:2] == errors_in(theirs.error)[0][:2]
    if ours.stage == theirs.stage == "check":
        return errors_in(ours.error) == errors_in(theirs.error)
    return (ours.stage, ours.type, ours.value) == (theirs.stage, theirs.type, theirs.value)


_ERROR = re.compile(r"^(?:INVALID_ARGUMENT: )?ERROR: <input>:(\d+):(\d+): (.*)$", re.MULTILINE)
_FOLLOWS = re.compile(r"\*error\*|!error!")
_MEMBER = re.compile(r"applied to '(.+)\.\((.*)\)'")


def errors_in(text: str) -> list[tuple[int, int, str]]:
    """
    List positions and messages, in words that both engines could use.

    They list a receiver among the arguments, name types by their long names, number unknown
    types, repeat themselves, go by the tree instead of the text, and complain of what has
    been complained of already.
    """
    found = (
        (int(line), int(column), _plain(words)) for line, column, words in _ERROR.findall(text)
    )
    return sorted({error for error in found if not _FOLLOWS.search(error[2])})


def _plain(message: str) -> str:
    message = _MEMBER.sub(
        lambda call: f"applied to '({', '.join(filter(None, call.groups()))})'", message
    )
    message = message.replace("google.protobuf.Timestamp", "timestamp").replace("null_type", "null")
    return re.sub(r"T%\d+", "dyn", message.replace("google.protobuf.Duration", "duration"))
