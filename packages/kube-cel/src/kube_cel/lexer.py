"""
From text to tokens, and from the token of a literal to its value.

A token's kind is the token itself for punctuation and keywords (`"("`, `"in"`), and the name the
CEL grammar gives it otherwise (`"IDENTIFIER"`). The names matter: syntax errors print them.

Text that is no token is reported and skipped, as in cel-go, so that one stray character does not
hide later mistakes. Malformed escapes and numbers are no tokens; what remains to be rejected in a
literal is a value that does not exist: an integer beyond 64 bits, half a surrogate pair.
"""

import math
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
    """Return the tokens of a text and the issues of what is no token, at most `MAX_ISSUES`."""
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
                start = match.start(group)
                message = f"Syntax error: token recognition error at: '{word}'"
                issues.append(
                    Issue(message, start, start, start + len(word), _HINTS.get(word[0], ""))
                )
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


Value = bool | int | float | str | bytes | None

_MAX_DIGITS = 20  # of the largest 64-bit number; longer ones are rejected without conversion

_ESCAPE_SEQUENCE = re.compile(
    r"\\(?:[xX](?P<byte>[0-9a-fA-F]{2})|u(?P<short>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{8})"
    r"|(?P<octal>[0-3][0-7]{2})|(?P<letter>.))",
    re.DOTALL,
)
_LETTER_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13}


class InvalidLiteral(ValueError):  # noqa: N818 - reported as an issue
    """A literal without a value; the message is cel-go's."""


def literal_value(kind: str, text: str, *, negative: bool = False) -> tuple[str, Value]:
    """Return the CEL type and the value of a literal token."""
    if kind == STRING:
        body, raw = _body(text)
        return "string", (
            body if raw or "\\" not in body else _ESCAPE_SEQUENCE.sub(_character, body)
        )
    if kind == BYTES:
        return "bytes", _bytes(text[1:])
    if kind == INT:
        magnitude = _magnitude(text)
        if magnitude >= 2**63 + negative:
            raise InvalidLiteral("invalid int literal")
        return "int", (-magnitude if negative else magnitude)
    if kind == DOUBLE:
        value = float(text)
        if math.isinf(value):
            raise InvalidLiteral("invalid double literal")
        return "double", (-value if negative else value)
    if kind == UINT:
        magnitude = _magnitude(text[:-1])
        if magnitude >= 2**64:
            raise InvalidLiteral("invalid uint literal")
        return "uint", magnitude
    return ("null_type", None) if kind == "null" else ("bool", kind == "true")


def _magnitude(text: str) -> int:
    """Read digits; anything too long to be a 64-bit number counts as just beyond them."""
    base = 16 if text.startswith("0x") else 10
    digits = text.removeprefix("0x").lstrip("0")
    return int(digits or "0", base) if len(digits) <= _MAX_DIGITS else 2**64


def _bytes(text: str) -> bytes:
    body, raw = _body(text)
    if raw or "\\" not in body:
        return _encode(body)
    parts: list[bytes] = []
    done = 0
    for escape in _ESCAPE_SEQUENCE.finditer(body):
        parts += (_encode(body[done : escape.start()]), bytes([_byte(escape)]))
        done = escape.end()
    return b"".join((*parts, _encode(body[done:])))


def _body(text: str) -> tuple[str, bool]:
    """Return a string without prefix and quotes, and whether backslashes are literal."""
    raw = text[0] in "rR"
    quoted = text[1:] if raw else text
    width = 3 if quoted[:3] in ('"""', "'''") and len(quoted) >= 6 else 1
    return quoted[width:-width].replace("\r\n", "\n").replace("\r", "\n"), raw


def _character(escape: re.Match[str]) -> str:
    """Decode an escape sequence; surrogates and numbers beyond Unicode are errors."""
    digits = escape["short"] or escape["long"]
    code = int(digits, 16) if digits else _byte(escape)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise InvalidLiteral("invalid unicode code point")
    return chr(code)


def _byte(escape: re.Match[str]) -> int:
    """Return the value of an escape of one byte; escapes of code points are for strings only."""
    match escape.lastgroup:
        case "byte":
            return int(escape["byte"], 16)
        case "octal":
            return int(escape["octal"], 8)
        case "letter":
            return _LETTER_ESCAPES.get(escape["letter"]) or ord(escape["letter"])
        case _:
            raise InvalidLiteral("unable to unescape string")


def _encode(text: str) -> bytes:
    # Half a surrogate pair cannot come from a file, but must not crash the parser.
    return text.encode(errors="surrogatepass")
