"""
From text to tokens.

A token's kind is the token itself for punctuation and keywords (`"("`, `"in"`), and the name
the CEL grammar gives it otherwise (`"IDENTIFIER"`). The names matter: syntax errors print them.

What is no token is reported and skipped, as cel-go does, so that one stray character does not
hide the mistakes behind it.
"""

import re
from typing import NamedTuple

from kube_cel.issues import MAX_ISSUES, Issue

END = "<EOF>"
IDENTIFIER = "IDENTIFIER"
ESCAPED = "ESC_IDENTIFIER"
INT = "NUM_INT"
UINT = "NUM_UINT"
DOUBLE = "NUM_FLOAT"
STRING = "STRING"
BYTES = "BYTES"

_KEYWORDS = frozenset({"in", "true", "false", "null"})

_ESCAPE = r"""\\(?:[abfnrtv"'\\?`]|[0-3][0-7]{2}|[xX]H{2}|uH{4}|UH{8})"""
_CUT_ESCAPE = r"""\\(?:[0-3][0-7]?|[xX]H?|uH{0,3}|UH{0,7})?"""

# One group a kind, in the order of `_KINDS`; what goes before a token belongs to no group. The
# commonest kinds come first, so names first exclude what begins a string (`r"…"`), and are
# tried again behind it. Loops are possessive (`++`): no text makes the lexer look twice.
_TOKEN = re.compile(
    r"""
    (?: [ \t\r\n\f]++ | //[^\n]*+ )*+
    (?: ( (?![bB]?[rR]?["'])[A-Za-z_][A-Za-z0-9_]*+ )
      | ( \.(?![0-9]) | == | != | <= | >= | && | \|\| | [-+*/%<>!?:,()\[\]{}] )
      | ( [bB]?(?:
            \"{3}(?:[^\\]|ESCAPE)*?\"{3} | '{3}(?:[^\\]|ESCAPE)*?'{3}
          | "(?:[^\\"\n\r]|ESCAPE)*+"    | '(?:[^\\'\n\r]|ESCAPE)*+'
          | [rR](?:\"{3}.*?\"{3} | '{3}.*?'{3} | "[^"\n\r]*+" | '[^'\n\r]*+') ) )
      | ( [0-9]+\.[0-9]++(?:[eE][+-]?[0-9]++)? | \.[0-9]++(?:[eE][+-]?[0-9]++)?
        | [0-9]+[eE][+-]?[0-9]++ )
      | ( (?:0xH+ | [0-9]+)[uU] )
      | ( 0xH++ | [0-9]++ )
      | ( [A-Za-z_][A-Za-z0-9_]*+ )
      | ( `[A-Za-z0-9_.\-/\ ]++` )
      | ( (?: "(?:[^\\"\n\r]|ESCAPE)*+(?:CUT)? | '(?:[^\\'\n\r]|ESCAPE)*+(?:CUT)?
            | `[A-Za-z0-9_.\-/\ ]*+ | [&|=] )?
          .? ) )
    """.replace("ESCAPE", _ESCAPE)
    .replace("CUT", _CUT_ESCAPE)
    .replace("H", "[0-9a-fA-F]"),
    re.VERBOSE | re.DOTALL,
)
_PUNCTUATION, _BROKEN = "", "broken"
_KINDS = ("", IDENTIFIER, _PUNCTUATION, STRING, DOUBLE, UINT, INT, IDENTIFIER, ESCAPED, _BROKEN)

# What people mean who write what CEL does not know, by its first character.
_HINTS = {
    "=": "CEL compares with ==",
    "&": "CEL writes && for and",
    "|": "CEL writes || for or",
    "$": "inside an expression names need no ${}",
    ";": "an expression is one value, without semicolons",
    "#": "a comment begins with //",
    "`": "a quoted field name holds letters, digits, _ . - / and blanks, and ends with `",
    **dict.fromkeys("'\"", "a string ends with its quote on the same line; a backslash is \\\\"),
}


class Tokens(NamedTuple):
    """
    The tokens of a text, side by side, closed by two `END`s.

    Two, so that a parser may look one token ahead without asking whether there is one.
    """

    kinds: list[str]
    texts: list[str]
    starts: list[int]


def tokenize(text: str) -> tuple[Tokens, list[Issue]]:
    """Split a text into tokens, and list what is none; too much of that ends the search."""
    kinds: list[str] = []
    texts: list[str] = []
    starts: list[int] = []
    issues: list[Issue] = []
    for match in _TOKEN.finditer(text):
        group = match.lastindex or 0
        word, kind = match[group], _KINDS[group]
        if kind == _PUNCTUATION or word in _KEYWORDS:
            kind = word
        elif kind == _BROKEN:
            if word:
                issues.append(_unrecognized(word, match.start(group)))
            if len(issues) > MAX_ISSUES:
                break
            continue
        elif kind == STRING and word[0] in "bB":
            kind = BYTES
        kinds.append(kind)
        texts.append(word)
        starts.append(match.start(group))
    kinds += (END, END)
    texts += ("", "")
    starts += (len(text), len(text))
    return Tokens(kinds, texts, starts), issues


def _unrecognized(word: str, start: int) -> Issue:
    message = f"Syntax error: token recognition error at: '{word}'"
    return Issue(message, start, start, start + len(word), _HINTS.get(word[0], ""))
