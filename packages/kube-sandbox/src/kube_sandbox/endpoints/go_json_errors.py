"""
What Go's JSON decoder says of a text that is no JSON, and how it calls the types of values.

Only asked when a text is known to be wrong, so it goes through it character by character.

Follows go 1.25 encoding/json/scanner.go checkValid, quoteChar, scanner.error.
"""

from typing import Any

from kube_sandbox.nesting import MAX_DEPTH

END = "unexpected end of JSON input"
_SPACE = frozenset(b" \t\r\n")
_DIGITS = frozenset(b"0123456789")
_HEX = frozenset(b"0123456789abcdefABCDEF")
_LITERALS = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}
_ESCAPES = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 92: "\\\\"}
_TYPES: dict[type, str] = {
    bool: "bool",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


def go_type(value: Any) -> str:
    """Return how Go's decoder calls the type of a value."""
    return _TYPES.get(type(value), "null")


def go_syntax_error(text: bytes) -> str:
    """Return what Go says of a text that is no JSON; empty if it finds nothing wrong."""
    reader = _Reader(text)
    try:
        reader.value()
        if (found := reader.peek()) is not None:
            reader.fail(found, "after top-level value")
    except _GoSyntaxError as wrong:
        return str(wrong)
    return ""


class _GoSyntaxError(Exception):
    pass


class _Reader:
    def __init__(self, text: bytes) -> None:
        self.text = text
        self.at = 0

    def fail(self, character: int, where: str) -> None:
        raise _GoSyntaxError(f"invalid character {_quote_character(character)} {where}")

    def peek(self) -> int | None:
        while self.at < len(self.text) and self.text[self.at] in _SPACE:
            self.at += 1
        return self.text[self.at] if self.at < len(self.text) else None

    def next(self) -> int:
        """Take a character, whatever it is."""
        self.at += 1
        if self.at > len(self.text) + 1:
            raise _GoSyntaxError(END)
        # To see whether a text may end where it does, Go reads one space more than there is.
        return self.text[self.at - 1] if self.at <= len(self.text) else ord(" ")

    def token(self) -> int:
        """Take the next character that is no space."""
        if self.peek() is None:
            raise _GoSyntaxError(END)
        return self.next()

    def value(self) -> None:
        # What is open is kept here rather than on Python's stack: texts may be deep.
        open_: list[int] = []
        while True:
            first = self.token()
            is_empty = first in b"{[" and self.peek() == first + 2
            if first in b"{[" and len(open_) == MAX_DEPTH:
                self.fail(first, "exceeded max depth")
            if first in b"{[" and not is_empty:
                open_.append(first)
                if first == ord("{"):
                    self.key()
                continue
            if is_empty:
                self.next()
            else:
                self.scalar(first)
            if not self.follow(open_):
                return

    def follow(self, open_: list[int]) -> bool:
        """Continue after a value; return whether another value must follow."""
        while open_:
            found, is_object = self.token(), open_[-1] == ord("{")
            if found == ord(","):
                if is_object:
                    self.key()
                return True
            if found != open_[-1] + 2:
                self.fail(
                    found, f"after {'object key:value pair' if is_object else 'array element'}"
                )
            open_.pop()
        return False

    def key(self) -> None:
        first = self.token()
        if first != ord('"'):
            self.fail(first, "looking for beginning of object key string")
        self.string()
        colon = self.token()
        if colon != ord(":"):
            self.fail(colon, "after object key")

    def scalar(self, first: int) -> None:
        if first == ord('"'):
            self.string()
        elif first in _LITERALS:
            self.literal(_LITERALS[first])
        elif first == ord("-") or first in _DIGITS:
            self.number(first)
        else:
            self.fail(first, "looking for beginning of value")

    def string(self) -> None:
        """Read a string; a control character in it is an error at its own offset."""
        while (found := self.next()) != ord('"'):
            if found < 0x20:
                self.fail(found, "in string literal")
            if found == ord("\\"):
                self.escape()

    def escape(self) -> None:
        found = self.next()
        if found == ord("u"):
            for _ in range(4):
                digit = self.next()
                if digit not in _HEX:
                    self.fail(digit, "in \\u hexadecimal character escape")
        elif found not in b'bfnrt\\/"':
            self.fail(found, "in string escape code")

    def literal(self, word: bytes) -> None:
        for expected in word[1:]:
            found = self.next()
            if found != expected:
                self.fail(found, f"in literal {word.decode()} (expecting '{chr(expected)}')")

    def number(self, first: int) -> None:
        if first == ord("-"):
            first = self.digit("in numeric literal")
        if first != ord("0"):
            self.digits()
        if self.takes(b"."):
            self.digit("after decimal point in numeric literal")
            self.digits()
        if self.takes(b"eE"):
            self.takes(b"+-")
            self.digit("in exponent of numeric literal")
            self.digits()

    def takes(self, characters: bytes) -> bool:
        """Advance if the next byte is one of these; return whether it was."""
        found = self.text[self.at : self.at + 1]
        if not found or found not in characters:
            return False
        self.at += 1
        return True

    def digit(self, where: str) -> int:
        found = self.next()
        if found not in _DIGITS:
            self.fail(found, where)
        return found

    def digits(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in _DIGITS:
            self.at += 1


def _quote_character(character: int) -> str:
    """Quote a character as Go does; what is no ASCII it takes for Latin-1."""
    if character == ord("'"):
        return r"'\''"
    if character in _ESCAPES:
        return f"'{_ESCAPES[character]}'"
    if character < 0x20 or character == 0x7F:
        return f"'\\x{character:02x}'"
    if 0x80 <= character <= 0xA0 or character == 0xAD:
        return f"'\\u{character:04x}'"
    return f"'{chr(character)}'"
