"""
Fields as people name them, and what they mean in a given object.

`spec.replicas`, `data.LOG_LEVEL`, `spec.template.spec.containers[0].image` and, where an index says
nothing, `containers[name=web].image`. Keys with dots may be quoted in brackets, as kubectl and kro
print them, or simply written out: `metadata.labels.app.kubernetes.io/name` is tried both ways.
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
        """Say whether an item has these values; everything is compared as text."""
        return isinstance(item, dict) and all(
            name in item and _as_text(item[name]) == wanted for name, wanted in self.keys
        )

    def __str__(self) -> str:
        return "[" + ",".join(f"{name}={value}" for name, value in self.keys) + "]"


Step = str | int | Item
Steps = tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Resolved:
    """
    Where the words lead in an object.

    `path` is as far as it goes, and `rest` what leads nowhere; with no rest, the field is there.
    """

    path: Path
    rest: Steps = ()

    @property
    def is_there(self) -> bool:
        """Say whether the field is in the object."""
        return not self.rest


def parse_field(text: str) -> Steps:
    """Read a field as people write it; a leading dot, as in a JSON path, means nothing."""
    steps: list[Step] = []
    at = 1 if text.startswith(".") else 0
    while at < len(text):
        match = _BRACKET.match(text, at)
        if match is not None:
            steps.append(_in_brackets(match))
        else:
            if text[at] == "." and steps and at + 1 < len(text):
                at += 1
            match = _NAME.match(text, at)
            if match is None:
                raise _unreadable(text, at)
            steps.append(match[0])
        at = match.end()
    if not steps:
        raise _unreadable(text, 0)
    return tuple(steps)


def _in_brackets(match: re.Match[str]) -> Step:
    if match["index"] is not None:
        return int(match["index"])
    if match["keys"] is not None:
        pairs = (each.partition("=") for each in match["keys"].split(","))
        return Item(tuple((name.strip(), value.strip().strip("\"'")) for name, _, value in pairs))
    if match["double"] is not None:
        return re.sub(r"\\(.)", r"\1", match["double"])
    return match["single"] if match["single"] is not None else match["bare"]


def _unreadable(text: str, at: int) -> UserError:
    return UserError(
        "invalid-field",
        f"'{text}' is not a field: it cannot be read from character {at + 1} on",
        hint="write spec.replicas, containers[0].image, containers[name=web].image "
        'or labels["app.io/x"]',
    )


def format_steps(steps: Steps) -> str:
    """Print steps as they are written."""
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
    for key, count in _keys(value, steps):
        found = resolve(steps[count:], value[key])
        here = Resolved((key, *found.path), found.rest)
        if here.is_there:
            return here
        if len(here.rest) < len(best.rest):
            best = here
    return best


def _keys(value: Any, steps: Steps) -> Iterator[tuple[str | int, int]]:
    """Give the keys or indices that may be next, and how many steps each takes."""
    if not steps:
        return
    step = steps[0]
    if isinstance(value, list):
        index = _index(value, step)
        if index is not None:
            yield index, 1
    elif isinstance(value, dict):
        named = (str(step),) if isinstance(step, int) else _joined(steps)
        yield from ((key, count) for count, key in enumerate(named, 1) if key in value)


def _joined(steps: Steps) -> Iterator[str]:
    """Give the first name, the first two with a dot between, and so on."""
    key = ""
    for step in steps:
        if not isinstance(step, str):
            return
        key = f"{key}.{step}" if key else step
        yield key


def _index(items: list[Any], step: Step) -> int | None:
    if isinstance(step, Item):
        return next((at for at, item in enumerate(items) if step.matches(item)), None)
    if isinstance(step, int):
        return step if step < len(items) else None
    # `containers.web.image`: the dot people are used to, for the name they look for.
    by_name = Item((("name", step),))
    return next((at for at, item in enumerate(items) if by_name.matches(item)), None)


def near_names(value: Any, step: Step) -> tuple[str, ...]:
    """Return what there is instead of a step: the nearest first, then the others."""
    if isinstance(value, list):
        return tuple(_item_names(value))[:_SHOWN]
    if not isinstance(value, dict):
        return ()
    word = step if isinstance(step, str) else str(step)
    near = get_close_matches(word, list(value), n=3, cutoff=0.6)
    return tuple(dict.fromkeys((*near, *value)))[:_SHOWN]


def _item_names(items: list[Any]) -> Iterator[str]:
    for at, item in enumerate(items):
        name = item.get("name") if isinstance(item, dict) else None
        yield f"[name={name}]" if isinstance(name, str) else f"[{at}]"


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
