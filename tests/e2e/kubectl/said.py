"""
What kubectl says, without what no two clusters have in common.

Ages, times, uids, versions, addresses and made-up suffixes become words; columns are told apart by
two blanks, however wide they are.
"""

import re
from dataclasses import dataclass

_WORDS = (
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "UID"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)? [+-]\d{4}( UTC)?", "TIME"),
    (r"nodePort: \d+", "nodePort: PORT"),
    (r"Resource Version: +\d+", "Resource Version: VERSION"),
    (r"kubectl-edit-\d+", "kubectl-edit-NUMBER"),
    (r"https://127\.0\.0\.1:\d+", "SERVER"),
    (r"\b10\.\d+\.\d+\.\d+\b", "IP"),
    (r"/tmp/\S+?/(?=[\w.-]+(\s|\"|'|:|$))", "FOLDER/"),
    (r"(resourceVersion\"?: )\"\d+\"", r"\1VERSION"),
    (r"(?<=[ (<])\d+[smhd](\d+[smhd])?(?=[\s),>]|$)", "AGE"),
    (r"<unknown>(?=\s|$)", "AGE"),
    (r"^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d ", ""),
    (r"^[EWI]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", ""),
)
_COMPILED = [(re.compile(pattern, re.MULTILINE), word) for pattern, word in _WORDS]
_MADE_UP = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b")
_HASH = re.compile(r"(?<=(?:web-|ash=))[bcdfghjklmnpqrstvwxz2456789]{7,10}\b")
_BLANKS = re.compile(r"(?<=\S) {2,}")
_END = re.compile(r"[ \t]+$", re.MULTILINE)


def normal(text: str) -> str:
    """Return a text in words that any cluster would use."""
    for pattern, word in _COMPILED:
        text = pattern.sub(word, text)
    text = _MADE_UP.sub("-SUFFIX", _HASH.sub("HASH", text))
    return _END.sub("", _BLANKS.sub("  ", text))


@dataclass(frozen=True, slots=True)
class Said:
    """What came of a command."""

    code: int
    out: str
    err: str

    def normal(self) -> "Said":
        """Return the same in words that any cluster would use."""
        return Said(self.code, normal(self.out), normal(self.err))

    def sorted(self) -> "Said":
        """Return the same with lines in the order of the alphabet, where a cluster has none."""
        return Said(
            self.code,
            "\n".join(sorted(self.out.splitlines())),
            "\n".join(sorted(self.err.splitlines())),
        )

    def __str__(self) -> str:
        return f"[exit {self.code}]\n{self.out}\n[errors]\n{self.err}"
