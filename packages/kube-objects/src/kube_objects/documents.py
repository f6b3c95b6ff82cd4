"""
YAML and JSON text → documents that know the line and column of every field.

`load` does not raise for invalid files. It returns every document that can be parsed and a finding,
with its position, for each problem. Values are plain JSON data, parsed as Kubernetes parses them.
The module opens no file: the text and the name of the file are arguments.

A document that can be parsed but is not valid (a duplicate key, a number as a key) is returned with
`is_valid` false, so that later checks can report its other problems in the same run.
"""

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from kube_objects.positions import Places, SourceText, Span
from kube_objects.problems import Finding, Origin, Problem, Spot
from kube_objects.yaml_parser import BadSeparator, ParseError, Part, split
from kube_objects.yaml_values import DEFAULT_LIMITS, Limits, build

_BOM = "\ufeff"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
# What YAML calls printable, and JSON is content with.
_CONTROL = re.compile("[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, eq=False)
class Document:
    """
    One document of a file.

    `index` counts the documents of the file from 0, blank ones left out.
    """

    file: str
    index: int
    value: Any
    source: SourceText = field(repr=False)
    part: Part = field(repr=False)
    revision: str = ""
    is_valid: bool = True

    def origin(self, spot: Spot) -> Origin:
        """
        Return the position of a spot in the file.

        That of a value is where its text begins (its quote, its `|`), that of an offset is its
        character, and that of a path which does not exist is its nearest existing parent.
        """
        line, column = self.source.position(self.span(spot).start)
        return Origin(self.file, line, column, self.revision)

    def width(self, spot: Spot) -> int:
        """Return how many characters to underline, on the line of the origin."""
        span = self.span(spot)
        return self.source.width(span.start, span.end)

    def span(self, spot: Spot) -> Span:
        """Return where a spot is written, in characters of the file."""
        span, start = self._places.span(spot), self.part.start
        return Span(start + span.start, start + span.end)

    def source_line(self, number: int) -> str:
        """Return a line of the file (not of the document), without its break."""
        return self.source.line(number)

    def finding(self, problem: Problem, subject: str = "") -> Finding:
        """Return a problem with its position in the file."""
        return Finding(problem, self.origin(problem.spot), self.width(problem.spot), subject)

    @cached_property
    def _places(self) -> Places:
        return Places(self.part.text)


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The documents of a file and its problems, both in the order of the text."""

    documents: tuple[Document, ...] = ()
    findings: tuple[Finding, ...] = ()


def load(
    text: bytes | str, file: str, *, revision: str = "", limits: Limits = DEFAULT_LIMITS
) -> LoadResult:
    """
    Parse the documents of a file; never raises for its content.

    `file` and `revision` only appear in the origins of findings. A `str` is taken as it is; `bytes`
    must be UTF-8.
    """
    return _Loader(file, revision, limits).load(text)


class _Unreadable(Exception):  # noqa: N818 - a file of a user, not an error of the program
    def __init__(self, code: str, summary: str, hint: str, index: int = 0, text: str = "") -> None:
        super().__init__(summary)
        self.complaint = ParseError(Problem(code, summary, hint=hint), index, index + 1)
        self.text = text


@dataclass(frozen=True, slots=True)
class _Loader:
    file: str
    revision: str
    limits: Limits

    def load(self, text: bytes | str) -> LoadResult:
        try:
            source = SourceText(self._decode(text))
            parts = [
                part
                for part in split(source.text)
                if isinstance(part, BadSeparator) or part.has_content
            ]
            most = self.limits.documents
            if len(parts) > most:
                summary = f"the file has more than {most:,} documents"
                raise _Unreadable(
                    "too-many-documents", summary, "split it", parts[most].start, source.text
                )
        except _Unreadable as unreadable:
            where = SourceText(unreadable.text)
            return LoadResult((), (self._finding(unreadable.complaint, where, 0),))
        documents: list[Document] = []
        findings: list[Finding] = []
        index = 0
        for part in parts:
            if isinstance(part, BadSeparator):
                problem = Problem(
                    "yaml-syntax",
                    "this is not a document separator: nothing but a comment may follow '---'",
                    hint="begin the document on the next line",
                )
                error = ParseError(problem, 0, len(part.text))
                findings.append(self._finding(error, source, part.start))
                continue
            document, complaints = self._document(source, part, index)
            documents.extend(document)
            findings.extend(self._finding(each, source, part.start) for each in complaints)
            index += 1
        return LoadResult(tuple(documents), tuple(findings))

    def _decode(self, text: bytes | str) -> str:
        size = len(text) if isinstance(text, bytes) else len(text.encode(errors="replace"))
        if size > self.limits.file_bytes:
            summary = f"the file has more than {self.limits.file_bytes:,} bytes"
            raise _Unreadable("file-too-large", summary, "split it")
        if isinstance(text, str):
            return text.removeprefix(_BOM)
        hint = "save the file as UTF-8"
        if text.startswith(_UTF16_BOMS):
            raise _Unreadable("not-utf8", "the file is UTF-16, not UTF-8", hint)
        try:
            return text.decode().removeprefix(_BOM)
        except UnicodeDecodeError as error:
            before = text[: error.start].decode().removeprefix(_BOM)
            summary = f"the byte 0x{text[error.start]:02X} is not UTF-8"
            raise _Unreadable("not-utf8", summary, hint, len(before), before) from None

    def _document(
        self, source: SourceText, part: Part, index: int
    ) -> tuple[tuple[Document, ...], tuple[ParseError, ...]]:
        control = _CONTROL.search(part.text)
        if control is not None:
            problem = Problem(
                "control-character",
                f"the control character U+{ord(control[0]):04X} is not allowed in a manifest",
                hint="remove it, or write it as an escape in double quotes",
            )
            return (), (ParseError(problem, control.start(), control.end()),)
        built = build(part.text, self.limits)
        if not built.usable:
            return (), built.complaints
        sound = not built.complaints
        document = Document(self.file, index, built.value, source, part, self.revision, sound)
        return (document,), built.complaints

    def _finding(self, complaint: ParseError, source: SourceText, base: int) -> Finding:
        problem = complaint.problem
        if complaint.first is not None:
            line, _ = source.position(base + complaint.first)
            problem = replace(problem, hint=f"it is first given in line {line}")
        start, end = base + complaint.start, base + complaint.end
        origin = Origin(self.file, *source.position(start), self.revision)
        return Finding(problem, origin, source.width(start, end))
