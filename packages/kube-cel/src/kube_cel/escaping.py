"""
Property names as CEL identifiers, as Kubernetes escapes them.

`my-field` is written `.my__dash__field` and `namespace` is written `.__namespace__` (or also
`.namespace`, because no grammar forbids it). Names with other characters, or with a leading digit,
cannot be selected by an expression.
"""

import re

RESERVED_WORDS = frozenset(
    {
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for"),
        *("function", "if", "import", "let", "loop", "package", "namespace", "return"),
        *("var", "void", "while"),
    }
)

_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_UNESCAPES = {escaped: plain for plain, escaped in _ESCAPES.items()}

_ESCAPABLE = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*")
_TO_ESCAPE = re.compile(r"__|[-./]")
_ESCAPED = re.compile(r"__[^_]+__")


def escape(name: str) -> str | None:
    """Return the identifier that stands for a property, or None if none can."""
    if name.isidentifier() and name.isascii() and "__" not in name:
        return f"__{name}__" if name in RESERVED_WORDS else name
    if not _ESCAPABLE.fullmatch(name):
        return None
    return _TO_ESCAPE.sub(lambda found: _ESCAPES[found[0]], name)


def unescape(name: str) -> str | None:
    """Return the property an identifier stands for, or None if it is no escaped name."""
    if "__" not in name:
        return name
    word = name[2:-2]
    if word in RESERVED_WORDS and name == f"__{word}__":
        return word
    if any(found not in _UNESCAPES for found in _ESCAPED.findall(name)):
        return None
    return _ESCAPED.sub(lambda found: _UNESCAPES[found[0]], name)
