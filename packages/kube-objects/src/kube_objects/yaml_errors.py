"""
What the YAML parser complains about, in words for the author of the file.

libyaml names what it was doing; people want to know what they wrote. One table turns the
complaints that everyday mistakes cause into a fact and a hint; the rest is passed on as it is.
"""

from dataclasses import dataclass

import yaml

from kube_objects.problems import Problem


@dataclass(frozen=True, slots=True)
class ParseError:
    """
    A problem, and where in the document's text it stands.

    `first` is where the same thing stood before, when the problem is a repetition.
    """

    problem: Problem
    start: int
    end: int
    first: int | None = None


@dataclass(frozen=True, slots=True)
class _Rule:
    """If the parser says `problem` (while doing `context`), say this instead."""

    problem: str
    summary: str
    hint: str = ""
    context: str = ""
    from_context: bool = False  # the mistake is where the parser began, not where it gave up


_QUOTE = "put the value in quotes"
_INDENT = "check the indentation against the lines above"

_RULES = (
    _Rule(
        "found a tab character that violates indentation",
        "tabs are not allowed for indentation",
        "indent with spaces",
    ),
    _Rule(
        "did not find expected alphabetic or numeric character",
        "'*' begins an alias, and no name follows it",
        "put values such as '*.example.org' in quotes",
        context="while scanning an alias",
        from_context=True,
    ),
    _Rule(
        "did not find expected alphabetic or numeric character",
        "'&' begins an anchor, and no name follows it",
        _QUOTE,
        context="while scanning an anchor",
        from_context=True,
    ),
    _Rule(
        "mapping values are not allowed in this context",
        "a mapping is not allowed here: unexpected ': '",
        "quote a value that contains ': ', or check the indentation",
    ),
    _Rule(
        "block sequence entries are not allowed in this context",
        "a list item '- ' is not allowed here",
        "begin the list on the line after the key, or check the indentation",
    ),
    _Rule(
        "could not find expected ':'",
        "a ':' is missing: this line is neither 'key: value' nor a list item",
        "write 'key: value' with a space after the colon",
        from_context=True,
    ),
    _Rule(
        "did not find expected key",
        "this line does not fit the mapping around it",
        _INDENT,
    ),
    _Rule(
        "did not find expected '-' indicator",
        "this line does not fit the list around it",
        _INDENT,
    ),
    _Rule(
        "found unexpected end of stream",
        "the quoted text that begins here is not closed",
        "add the closing quote",
        context="while scanning a quoted scalar",
        from_context=True,
    ),
    _Rule(
        "did not find expected ',' or ']'",
        "expected ',' or ']' in the list in brackets",
        "separate items with ',', close with ']', and quote items with special characters",
    ),
    _Rule(
        "did not find expected ',' or '}'",
        "expected ',' or '}' in the mapping in braces",
        "separate fields with ',', close with '}'; quote a value that begins with '{'",
    ),
    _Rule(
        "did not find expected node content",
        "a value is expected here",
        "close every '[' and '{'; put a value that begins with ']', '}' or ',' in quotes",
    ),
    _Rule(
        "found unknown escape character",
        "unknown escape sequence in double quotes",
        "write '\\\\' for a backslash, or use single quotes",
    ),
    _Rule(
        "found invalid Unicode character escape code",
        "invalid Unicode escape in double quotes",
        "write the character itself",
    ),
    _Rule("found undefined tag handle", "a tag uses an undefined prefix", _QUOTE),
    _Rule(
        "did not find expected <document start>",
        "the document ended before this line, but something follows",
        "separate documents with a line '---'",
    ),
)


def explain(error: yaml.YAMLError, text: str) -> ParseError:
    """Turn what the parser raised into a complaint about `text`."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return ParseError(Problem("yaml-syntax", f"this is not YAML: {error}"), 0, 1)
    # What is missed at the very end is missed after the last thing that was written.
    where = min(error.problem_mark.index, max(0, len(text.rstrip()) - 1))
    begun = error.context_mark.index if error.context_mark else where
    if text.lstrip().startswith("%"):
        summary = "a line that begins with '%' is a directive, which kubectl does not support"
        return _parse_error(summary, text.index("%"), "remove the line")
    if "cannot start any token" in (error.problem or ""):
        return _unexpected_character(text, where)
    if text[begun : begun + 1] in ("[", "{") and where < error.problem_mark.index:
        return _parse_error(f"the '{text[begun]}' here is not closed", begun)
    for rule in _RULES:
        if rule.problem in (error.problem or "") and rule.context in (error.context or ""):
            return _parse_error(rule.summary, begun if rule.from_context else where, rule.hint)
    context = f"{error.context}: " if error.context else ""
    return _parse_error(f"{context}{error.problem}", where)


def _unexpected_character(text: str, where: int) -> ParseError:
    character = text[where : where + 1]
    if character == "\t":
        return _parse_error("tabs are not allowed for indentation", where, "indent with spaces")
    return _parse_error(f"a value cannot begin with '{character}'", where, _QUOTE)


def _parse_error(summary: str, where: int, hint: str = "") -> ParseError:
    return ParseError(Problem("yaml-syntax", summary, hint=hint), where, where + 1)
