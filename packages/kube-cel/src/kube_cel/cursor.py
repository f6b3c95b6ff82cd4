"""
A place among tokens, with a notebook for what is wrong.

The parser's lower half: passing tokens that must, may or should be there, and carrying out
what `expectations` decides when they are not. Knows no grammar.
"""

from typing import NoReturn

from kube_cel.issues import MAX_ISSUES, NO_OFFSET, Issue
from kube_cel.lexer import Tokens
from kube_cel.syntax_errors import Expected, Repair, diagnose
from kube_cel.syntax_tree import Node


class ParseAborted(Exception):  # noqa: N818 - control flow between a parser and its start
    """Nothing after this place can be made sense of; the issues say why."""


class Cursor:
    """The token looked at (`at`), and the issues found so far."""

    __slots__ = ("at", "issues", "kinds", "starts", "text", "texts", "tokens")

    def __init__(self, text: str, tokens: Tokens, issues: list[Issue]) -> None:
        self.text = text
        self.tokens = tokens
        self.kinds = tokens.kinds
        self.texts = tokens.texts
        self.starts = tokens.starts
        self.issues = issues
        self.at = 0

    def skip(self, kind: str) -> bool:
        """Pass a token of this kind, if there is one."""
        if self.kinds[self.at] != kind:
            return False
        self.at += 1
        return True

    def take(self, kind: str, expected: Expected) -> int:
        """Pass the one token that may come here, and return where it ends."""
        if self.kinds[self.at] != kind and self.repair(expected) is Repair.PRETEND:
            return self.starts[self.at]
        end = self.starts[self.at] + len(self.texts[self.at])
        self.at += 1
        return end

    def expect(self, expected: Expected) -> None:
        """See to it that the next token is an expected one."""
        if self.kinds[self.at] not in expected.kinds:
            self.repair(expected)

    def repair(self, expected: Expected) -> Repair:
        """Note what is wrong with the next token, and make the best of it or give up."""
        issue, repair = diagnose(self.tokens, self.at, expected)
        if repair is Repair.NONE:
            self.abort(issue)
        self.note(issue)
        if repair is Repair.SKIP:
            self.at += 1
        return repair

    def note(self, issue: Issue) -> Node:
        """Note an issue and return a node that stands for what is wrong."""
        self.issues.append(issue)
        if len(self.issues) > MAX_ISSUES:
            raise ParseAborted
        return Node(issue.offset, issue.start, issue.end)

    def note_everywhere(self, message: str) -> None:
        """Note an issue about the text as a whole."""
        self.note(Issue(message, NO_OFFSET, 0, len(self.text)))

    def abort(self, issue: Issue) -> NoReturn:
        """Note an issue after which parsing makes no sense."""
        self.issues.append(issue)
        raise ParseAborted
