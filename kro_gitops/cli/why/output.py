"""
The answer of `why` as text: the value, its line, its commit, and the fields it depends on.
"""

from collections.abc import Iterator
from datetime import datetime

from kro_gitops.cli.messages import Style
from kro_gitops.inspect.provenance.answer import Drift, OriginKind, Provenance
from kro_gitops.inspect.provenance.field_managers import Writer
from kro_gitops.inspect.provenance.git_location import Commit, Place
from kro_gitops.inspect.provenance.object_report import Share, Whole, Written
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

    def whole(self, found: Whole) -> str:
        """Format the origin of an object."""
        return "\n".join(self._whole(found)) + "\n"

    def _field(self, found: Provenance, indent: str) -> Iterator[str]:
        name = f"{found.object}: {format_path(found.path)}"
        title = f"{self._style.paint(printable(name), _BOLD)} = {_cut(found.value)}"
        yield f"{indent}{title}"
        inner = f"{indent}  "
        for drift in found.drift:
            yield from self._drift(drift, found, inner)
        yield self._row(inner, "because", found.text)
        if found.expression:
            yield self._row(inner, "", _cut(found.expression), _GREEN)
        for place in found.places:
            yield from self._place(place, inner)
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

    def _drift(self, drift: Drift, found: Provenance, indent: str) -> Iterator[str]:
        label = self._style.paint("drifted".ljust(_LABEL), _RED)
        where = f"{format_path(drift.path)}: " if drift.path != found.path else ""
        values = f"desired {_cut(drift.wanted)}, is {_cut(drift.live)}"
        yield f"{indent}{label}{printable(where)}{values}"
        for writer in drift.by:
            word = "most likely by " if drift.is_guess else "by "
            yield self._row(indent, "", f"{word}{self._writer(writer)}")

    def _place(self, place: Place, indent: str) -> Iterator[str]:
        if place.written is None or not place.written.path:
            text = f"{place.subject}, {format_path(place.path)} (not from a source)"
            yield self._row(indent, "where", text)
            return
        at = place.written
        of = f" of {at.source}" if at.source else ""
        yield self._row(indent, "where", f"{place.file}{of}")
        if place.line is not None and place.line.text:
            yield self._row(indent, "", _line(place.line.text), _DIM)
        commit = place.commit or Commit(at.revision)
        if commit.id:
            yield self._row(indent, "commit", self._commit(commit))
        if place.note:
            yield self._row(indent, "note", place.note)

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

    def _whole(self, found: Whole) -> Iterator[str]:
        yield self._style.paint(printable(str(found.object)), _BOLD)
        yield self._row("  ", "because", found.text)
        for above, below in zip(found.chain[1:], found.chain, strict=False):
            yield self._row("  ", "", f"{below} was created by {above}")
        for each in found.written:
            yield from self._whole_place(each)
        for label, listed in (("included", found.included), ("for each", found.iterations)):
            for condition in listed:
                yield self._row("  ", label, f"{condition.text} is {_cut(condition.value)}")
        for drift in found.drift:
            yield from self._whole_drift(drift)
        for share in found.shares:
            yield self._row("  ", "also by", self._share(share))

    def _whole_place(self, each: Written) -> Iterator[str]:
        place = each.place
        if place.written is None:
            yield self._row("  ", each.what, f"{place.subject} (not from a source)")
            return
        of = f" of {place.written.source}" if place.written.source else ""
        yield self._row("  ", each.what, f"{place.file}{of}")
        commit = place.commit or Commit(place.written.revision)
        if commit.id:
            yield self._row("  ", "", self._commit(commit))
        if place.note:
            yield self._row("  ", "", place.note)

    def _whole_drift(self, drift: Drift) -> Iterator[str]:
        label = self._style.paint("drifted".ljust(_LABEL), _RED)
        path = printable(format_path(drift.path))
        yield f"  {label}{path}: desired {_cut(drift.wanted)}, is {_cut(drift.live)}"
        for writer in drift.by:
            word = "most likely by " if drift.is_guess else "by "
            yield self._row("  ", "", f"{word}{self._writer(writer)}")

    def _share(self, share: Share) -> str:
        more = f" and {share.omitted} more" if share.omitted else ""
        return f"{self._writer(share.writer)}: {', '.join(share.fields)}{more}"

    def _row(self, indent: str, label: str, text: str, colour: str = "") -> str:
        padded = self._style.paint(label, _BLUE) + " " * (_LABEL - len(label))
        shown = printable(text)
        painted = self._style.paint(shown, colour) if colour else shown
        return f"{indent}{padded}{painted}".rstrip()


def _cut(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= _LONGEST_VALUE else f"{shown[: _LONGEST_VALUE - 1]}…"


def _line(text: str) -> str:
    shown = printable(text).strip()
    return shown if len(shown) <= _LONGEST_LINE else f"{shown[: _LONGEST_LINE - 1]}…"
