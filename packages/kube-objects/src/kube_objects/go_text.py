"""
Strings as Go sees them: UTF-8 bytes, and its way of quoting.

Kubernetes and its tools are written in Go, where a string is bytes: hashes are taken of them,
positions in messages count them, and messages quote the user's text by Go's rules.
"""

import re

_SURROGATES = re.compile("[\ud800-\udfff]")
_UNPRINTABLE = re.compile(r"[^ !#-\[\]-~]")
SHORT_ESCAPES = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    "\\": r"\\",
    '"': r"\"",
}


def encode(text: str) -> bytes:
    """Return the UTF-8 of a text; half a surrogate pair becomes U+FFFD, as Go's decoders do."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text).encode()


def decode(data: bytes) -> str:
    """Return the text of UTF-8 bytes; each invalid byte becomes U+FFFD."""
    return _SURROGATES.sub("\ufffd", data.decode(errors="surrogateescape"))


def quote(text: str) -> str:
    """Return a string quoted as by Go's `%q`."""
    return f'"{_UNPRINTABLE.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    short = SHORT_ESCAPES.get(char)
    if short is not None:
        return short
    code = ord(char)
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    if char.isprintable():
        return char
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
