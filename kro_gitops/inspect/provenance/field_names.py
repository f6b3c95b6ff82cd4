"""
Field names as users write them, resolved in a given object.

`spec.replicas`, `data.LOG_LEVEL`, `spec.template.spec.containers[0].image` or, instead of an index,
`containers[name=web].image`. Keys with dots may be quoted in brackets, as kubectl and kro
print them, or written out: `metadata.labels.app.kubernetes.io/name` is tried both ways.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from kro_gitops.errors import UserError
from kube_objects.paths import format_path
from kube_objects.problems import Path

_SHOWN = 8
_BRACKET = re.compile(
    r"""\[(?:
        (?P<index>\d{1,9})
      | "(?P<double>(?:[^"\\]|\\.)*)"
      | '(?P<single>[^']*)'
      | (?P<keys>[^\[\]"'=,]+=[^\],]*(?:,[^\[\]"'=,]+=[^\],]*)*)
      | (?P<bare>[^\[\]"'=]+)
    )\]""",
    re.VERBOSE,
)
_NAME = re.compile(r"[^.\[\]]+")


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a list, named by the value of its fields: `[name=web]`."""

    keys: tuple[tuple[str, str], ...]

    def matches(self, item: Any) -> bool:
        """Return True if an item has these values; everything is compared as text."""
        if not isinstance(item, dict):
            return False
        for name, expected in self.keys:
            if name not in item:
                return False
            value = item[name]
            if (str(value).lower() if isinstance(value, bool) else str(value)) != expected:
                return False
        return True

    def __str__(self) -> str:
        return "[" + ",".join(f"{name}={value}" for name, value in self.keys) + "]"


Step = str | int | Item
Steps = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Resolved:
    """
    The field that a name resolves to in an object.

    `path` is the part that exists, `rest` the steps that do not; with no rest, the field is there.
    """

    path: Path
    rest: Steps = ()

    @property
    def is_there(self) -> bool:
        """Return True if the field is in the object."""
        return not self.rest


def parse_field(text: str) -> Steps:
    """Parse a field as users write it; a leading dot, as in a JSON path, is ignored."""
    steps: list[Step] = []
    at = 1 if text.startswith(".") else 0
    while at < len(text):
        match = _BRACKET.match(text, at)
        if match is None:
            if text[at] == "." and steps and at + 1 < len(text):
                at += 1
            match = _NAME.match(text, at)
            if match is None:
                raise _unreadable(text, at)
            steps.append(match[0])
        elif match["index"] is not None:
            steps.append(int(match["index"]))
        elif match["keys"] is not None:
            pairs = (pair.partition("=") for pair in match["keys"].split(","))
            keys = ((name.strip(), value.strip().strip("\"'")) for name, _, value in pairs)
            steps.append(Item(tuple(keys)))
        elif match["double"] is not None:
            steps.append(re.sub(r"\\(.)", r"\1", match["double"]))
        else:
            steps.append(match["single"] if match["single"] is not None else match["bare"])
        at = match.end()
    if not steps:
        raise _unreadable(text, 0)
    return tuple(steps)


def _unreadable(text: str, at: int) -> UserError:
    return UserError(
        "invalid-field",
        f"'{text}' is not a field: it cannot be read from character {at + 1} on",
        hint="write spec.replicas, containers[0].image, containers[name=web].image "
        'or labels["app.io/x"]',
    )


def format_steps(steps: Steps) -> str:
    """Format steps as users write them."""
    text = ""
    for step in steps:
        if isinstance(step, Item):
            text += str(step)
        else:
            shown = format_path((step,))
            text += shown if not text or shown.startswith("[") else f".{shown}"
    return text


def resolve(steps: Steps, value: Any) -> Resolved:
    """Follow steps into an object as far as they lead."""
    best = Resolved((), steps)
    for key, count in _next_keys(value, steps):
        found = resolve(steps[count:], value[key])
        here = Resolved((key, *found.path), found.rest)
        if here.is_there:
            return here
        if len(here.rest) < len(best.rest):
            best = here
    return best


def _next_keys(value: Any, steps: Steps) -> Iterator[tuple[str | int, int]]:
    """Yield the keys or indices that may be next, and how many steps each takes."""
    if not steps:
        return
    step = steps[0]
    if isinstance(value, list):
        if isinstance(step, int):
            if step < len(value):
                yield step, 1
            return
        # `containers.web.image`: users write a dot and the name of the item.
        item = step if isinstance(step, Item) else Item((("name", step),))
        at = next((at for at, part in enumerate(value) if item.matches(part)), None)
        if at is not None:
            yield at, 1
    elif isinstance(value, dict):
        if isinstance(step, int):
            if str(step) in value:
                yield str(step), 1
            return
        # A key may contain dots: the first name, the first two with a dot between, and so on.
        key = ""
        for count, name in enumerate(steps, 1):
            if not isinstance(name, str):
                return
            key = f"{key}.{name}" if key else name
            if key in value:
                yield key, count


def near_names(value: Any, step: Step) -> tuple[str, ...]:
    """Return the names that exist instead of a step: the nearest first, then the others."""
    if isinstance(value, list):
        names = [item.get("name") if isinstance(item, dict) else None for item in value[:_SHOWN]]
        return tuple(
            f"[name={name}]" if isinstance(name, str) else f"[{at}]"
            for at, name in enumerate(names)
        )
    if not isinstance(value, dict):
        return ()
    word = step if isinstance(step, str) else str(step)
    near = get_close_matches(word, list(value), n=3, cutoff=0.6)
    return tuple(dict.fromkeys((*near, *value)))[:_SHOWN]
