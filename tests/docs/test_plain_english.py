"""
Help texts, messages and documentation use the words of Kubernetes, not a dialect of our own.

The table lists words that readers do not search for, and what to write instead. It holds only
words whose use is a mistake in every context, so that the test needs no judgement: "letter" for a
notification, "made" for created, "going" for deleting or "held" for state are left to reviews.

A word with a hyphen beside it is part of an identifier (the code `git-command-refused`), and a
string without a blank is a name, not prose: neither is looked at. Docstrings and comments are not
looked at either.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tools.update_docs import _verb_parsers

ROOT = Path(__file__).parents[2]
PARSERS = _verb_parsers()

# what not to write, as a regular expression between word boundaries → what to write
INSTEAD = {
    r"say(?:s|ing)? whether": "return whether, report whether",
    r"(?:some|no|any|every)body(?: else)?": "another field manager, the user, the client",
    r"who(?:m)?ever": "anyone who, the client that",
    r"anew": "again",
    r"for ever": "forever, permanently, never",
    r"told": "reported, message",
    r"errands?": "context, request",
    r"(?:at a )?glances?": "poll interval",
    r"patience": "timeout",
    r"farewell": "shutdown",
    r"carr(?:y|ies|ied|ying) out": "apply, execute",
    r"(?:bring(?:s|ing)?|brought) on": "advance",
    r"fare[sd]?": "status, outcome",
    r"lets? in": "admit",
    r"refus(?:e|es|ed|ing|al|als)": "reject",
    r"in spite of": "despite",
    r"for keeps": "for production",
    r"misfits?": "violation, mismatch",
    r"flaws?": "violation",
    r"doorbells?": "webhook endpoint",
    r"rehears(?:e|es|ed|ing|al|als)": "dry-run",
    r"pretend(?:s|ed|ing)?": "simulate, simulated",
    r"wanted": "desired",
    r"judg(?:e|es|ed|ing|e?ment)": "validate, evaluate",
    r"hear(?:s|d)": "receive, parse",
    r"deeds?": "request, attributes",
    r"looks? after|looked after": "manage, reconcile",
    r"put(?:s|ting)? right": "repair, correct",
    r"be had": "be read, be fetched",
    r"without further ado": "",
}

# Texts that are not ours to choose, with the reason.
ALLOWED = {
    r"connection (?:was )?refused": "the name of an errno, ECONNREFUSED",
    r"refuse, ?adopt|default: refuse": "values of --adoption-policy, which is a public flag",
}

_WORDS = {
    **{
        re.compile(rf"(?<![\w-])(?:{word})(?![\w-])", re.IGNORECASE): instead
        for word, instead in INSTEAD.items()
    },
    re.compile("[«»]"): "double quotes, or backticks",
}
_ALLOWED = re.compile("|".join(ALLOWED), re.IGNORECASE)
_FENCE = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`]*`|<!--.*?-->", re.DOTALL)

PAGES = sorted(
    (
        *ROOT.glob("*.md"),
        *(
            page
            for folder in ("docs", "examples", "deploy", "packages", "benchmarks", "tools")
            for page in (ROOT / folder).rglob("*.md")
        ),
    )
)


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of prose and where it stands."""

    place: str
    text: str


def complaints(texts: Iterator[Text]) -> list[str]:
    """List the words that should not be there, each with its place and what to write."""
    found = []
    for each in texts:
        prose = _ALLOWED.sub("", each.text)
        for pattern, instead in _WORDS.items():
            words = (matched[0] for matched in pattern.finditer(prose))
            found += [f"{each.place}: {word!r} → {instead}" for word in words]
    return found


def paragraphs(page: Path) -> Iterator[Text]:
    """Give the lines of a page outside of code."""
    name = page.relative_to(ROOT).as_posix()

    def blank(matched: re.Match[str]) -> str:
        return "\n" * matched[0].count("\n")

    prose = _CODE.sub(blank, _FENCE.sub(blank, page.read_text(encoding="utf-8")))
    for number, line in enumerate(prose.splitlines(), 1):
        yield Text(f"{name}:{number}", line)


def strings(module: Path) -> Iterator[Text]:
    """Give the string constants of a module that are prose: not docstrings, not names."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    scopes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    documentation = {
        statement.value
        for node in ast.walk(tree)
        if isinstance(node, scopes)
        for statement in node.body
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if node not in documentation and " " in text:
                yield Text(f"{module.relative_to(ROOT).as_posix()}:{node.lineno}", text)
            case _:
                pass


def packages() -> list[Path]:
    """Return the directories and modules whose strings are checked, one test each."""
    product = (p for p in (ROOT / "kro_gitops").iterdir() if p.is_dir() or p.suffix == ".py")
    found = [*product, *ROOT.glob("packages/*/src/*")]
    return sorted(path for path in found if path.name != "__pycache__")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_is_in_plain_english(page: Path) -> None:
    assert complaints(paragraphs(page)) == []


@pytest.mark.parametrize("package", packages(), ids=lambda path: path.name)
def test_messages_are_in_plain_english(package: Path) -> None:
    modules = sorted(package.rglob("*.py")) if package.is_dir() else [package]
    assert complaints(text for module in modules for text in strings(module)) == []


@pytest.mark.parametrize("verb", PARSERS)
def test_help_is_in_plain_english(verb: str) -> None:
    lines = PARSERS[verb].format_help().splitlines()
    assert complaints(Text(f"kro-gitops {verb}", line) for line in lines) == []


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("somebody else owns it", "somebody else"),
        ("It is told once.", "told"),
        ("the server Refused it", "Refused"),
        ("let workloads fare as in a cluster", "fare"),
        ("they were rehearsed", "rehearsed"),
        ("«too old»", "«"),
    ],
)
def test_a_word_of_the_dialect_is_found(text: str, word: str) -> None:
    assert complaints(iter([Text("x", text)]))[0].startswith(f"x: {word!r} → ")


@pytest.mark.parametrize(
    "text",
    [
        "see git-command-refused",
        "dial tcp: connection refused",
        "one of refuse, adopt",
        "--adoption-policy {refuse,adopt} (default: refuse)",
        "welfare, a software fareway",
        "for every instance",
    ],
)
def test_identifiers_and_texts_of_others_are_left_alone(text: str) -> None:
    assert complaints(iter([Text("x", text)])) == []


def test_every_exception_has_a_reason() -> None:
    assert all(ALLOWED.values())
