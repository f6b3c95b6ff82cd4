"""
The answer of `why` as text: the value, its line, its commit, and the fields it depends on.
"""

from collections.abc import Iterator
from datetime import datetime

from kro_gitops.cli.messages import Style
from kro_gitops.inspect.provenance.answer import Drift, OriginKind, Provenance
from kro_gitops.inspect.provenance.field_managers import Writer
from kro_gitops.inspect.provenance.git_location import Commit
from kro_gitops.inspect.provenance.object_report import ObjectReport
from kro_gitops.inspect.views.instances import age
from kro_gitops.telemetry.printable import printable
from kube_objects.paths import format_path
from kube_objects.times import parse_time

_BOLD, _DIM, _RED, _GREEN, _BLUE = "1", "2", "31", "32", "34"
_LABEL = 11
_LONGEST_VALUE = 120
_LONGEST_LINE = 100
_SHORT_ID = 12


class Printer:
    """Formats answers; `now` is for ages."""

    def __init__(self, style: Style, now: datetime) -> None:
        self._style = style
        self._now = now

    def field(self, found: Provenance) -> str:
        """Format the origin of a field and the fields it depends on."""
        return "\n".join(self._field(found, "")) + "\n"

    def whole(self, found: ObjectReport) -> str:
        """Format the origin of an object."""
        lines = [
            self._style.paint(printable(str(found.object)), _BOLD),
            self._row("  ", "because", found.text),
        ]
        for above, below in zip(found.chain[1:], found.chain, strict=False):
            lines.append(self._row("  ", "", f"{below} was created by {above}"))
        for each in found.written:
            place = each.place
            if place.written is None:
                lines.append(self._row("  ", each.what, f"{place.subject} (not from a source)"))
                continue
            of = f" of {place.written.source}" if place.written.source else ""
            lines.append(self._row("  ", each.what, f"{place.file}{of}"))
            commit = place.commit or Commit(place.written.revision)
            if commit.id:
                lines.append(self._row("  ", "", self._commit(commit)))
            if place.note:
                lines.append(self._row("  ", "", place.note))
        for label, listed in (("included", found.included), ("for each", found.iterations)):
            lines += [
                self._row("  ", label, f"{condition.text} is {_cut(condition.value)}")
                for condition in listed
            ]
        for drift in found.drift:
            lines += self._drift(drift, f"{format_path(drift.path)}: ", "  ")
        for share in found.shares:
            more = f" and {share.omitted} more" if share.omitted else ""
            fields = f"{', '.join(share.fields)}{more}"
            lines.append(self._row("  ", "also by", f"{self._writer(share.writer)}: {fields}"))
        return "\n".join(lines) + "\n"

    def _field(self, found: Provenance, indent: str) -> Iterator[str]:
        name = f"{found.object}: {format_path(found.path)}"
        title = f"{self._style.paint(printable(name), _BOLD)} = {_cut(found.value)}"
        yield f"{indent}{title}"
        inner = f"{indent}  "
        for drift in found.drift:
            where = f"{format_path(drift.path)}: " if drift.path != found.path else ""
            yield from self._drift(drift, where, inner)
        yield self._row(inner, "because", found.text)
        if found.expression:
            yield self._row(inner, "", _cut(found.expression), _GREEN)
        for place in found.places:
            at = place.written
            if at is None or not at.path:
                text = f"{place.subject}, {format_path(place.path)} (not from a source)"
                yield self._row(inner, "where", text)
                continue
            of = f" of {at.source}" if at.source else ""
            yield self._row(inner, "where", f"{place.file}{of}")
            if place.line is not None and place.line.text:
                yield self._row(inner, "", _cut(place.line.text.strip(), _LONGEST_LINE), _DIM)
            commit = place.commit or Commit(at.revision)
            if commit.id:
                yield self._row(inner, "commit", self._commit(commit))
            if place.note:
                yield self._row(inner, "note", place.note)
        if found.kind is OriginKind.MANAGER:
            for writer in found.writers:
                yield self._row(inner, "who", self._writer(writer))
        for note in found.notes:
            yield self._row(inner, "note", note)
        for reference in found.references:
            note = f" ({reference.note})" if reference.note else ""
            yield self._row(inner, "reads", f"{reference.text}{note}")
            if reference.found is not None:
                yield from self._field(reference.found, f"{inner}  ")

    def _drift(self, drift: Drift, where: str, indent: str) -> Iterator[str]:
        label = self._style.paint("drifted".ljust(_LABEL), _RED)
        values = f"desired {_cut(drift.desired)}, is {_cut(drift.live)}"
        yield f"{indent}{label}{printable(where)}{values}"
        for writer in drift.by:
            word = "most likely by " if drift.is_guess else "by "
            yield self._row(indent, "", f"{word}{self._writer(writer)}")

    def _commit(self, commit: Commit) -> str:
        if not commit.author:
            return commit.id[:_SHORT_ID]
        address = f" <{commit.email}>" if commit.email else ""
        when = parse_time(commit.time)
        ago = f", {age(when, self._now)} ago" if when is not None else ""
        what = f": {commit.subject}" if commit.subject else ""
        return f"{commit.id[:_SHORT_ID]} {commit.author}{address}{ago}{what}"

    def _writer(self, writer: Writer) -> str:
        how = ", ".join(text for text in (writer.operation, writer.subresource) if text)
        when = parse_time(writer.time)
        since = f", {age(when, self._now)} ago ({writer.time})" if when is not None else ""
        return f"{writer.manager}{f' ({how})' if how else ''}{since}"

    def _row(self, indent: str, label: str, text: str, colour: str = "") -> str:
        padded = self._style.paint(label, _BLUE) + " " * (_LABEL - len(label))
        shown = printable(text)
        painted = self._style.paint(shown, colour) if colour else shown
        return f"{indent}{padded}{painted}".rstrip()


def _cut(text: str, most: int = _LONGEST_VALUE) -> str:
    shown = printable(text)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"
