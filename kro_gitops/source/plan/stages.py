"""
The order in which the objects of a revision are applied.

Three stages; a stage starts when the one before it is served or ready:

1. what other objects need to exist at all: namespaces, CRDs that are plain manifests, cluster roles
   and the kinds named `…Class`;
2. definitions, in waves: a definition that uses a kind comes after the one that generates it,
   because a definition with an unknown kind does not compile;
3. everything else, instances included.

Inside the third stage nothing waits unless annotations ask for it:

* `gitops.kro.run/wave: "2"`: an integer, default 0. A wave starts when the one before is healthy.
* `gitops.kro.run/depends-on: Kind.group/namespace/name, …`: this object starts when those are
  healthy. In the core group it is `Kind/namespace/name`, for cluster-scoped objects
  `Kind.group/name`.

The result is layers; without annotations there is exactly one. An object with invalid annotations
is in no layer, and neither are objects that depend on it: its author asked for an order, and any
other could do harm. It is still desired, so it is never pruned for that.

Inside a layer objects are sorted by `order.apply_key`.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from kro_gitops.engine.api import DEFINITION_KIND
from kro_gitops.engine.definition import Definition, parse
from kro_gitops.errors import UserError
from kro_gitops.metadata import DEPENDS_ON, WAVE
from kro_gitops.source.plan.order import FIRST, apply_key, dependents, layers
from kube_objects.problems import Problem, Spot
from kube_objects.refs import Kind, KubeObject, ObjectRef

_MAX_NAMES = 8  # of a cycle in a message
_WAVE = re.compile(r"[+-]?[0-9]{1,9}")


class Stage(IntEnum):
    """When an object is applied; deletion is in reverse order."""

    NAMESPACES = 1
    DEFINITIONS = 2
    OBJECTS = 3


@dataclass(frozen=True, slots=True, order=True)
class ObjectKey:
    """An object in any version: what stays when an API is upgraded."""

    group: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, ref: ObjectRef) -> "ObjectKey":
        """Return the key of a ref: all but the version."""
        return cls(ref.kind.group, ref.kind.kind, ref.namespace, ref.name)

    def __str__(self) -> str:
        kind = f"{self.kind}.{self.group}" if self.group else self.kind
        return "/".join(part for part in (kind, self.namespace, self.name) if part)


@dataclass(frozen=True, slots=True)
class Waves:
    """
    Definitions in the order they need each other.

    Those in a cycle, and those that need one of them, are in no wave; a cycle is a closed path.
    """

    waves: tuple[tuple[ObjectRef, ...], ...] = ()
    needs: Mapping[ObjectRef, frozenset[ObjectRef]] = field(default_factory=dict)
    cycles: tuple[tuple[ObjectRef, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Order:
    """Objects in layers, and the problems of those that are in none."""

    layers: tuple[tuple[ObjectRef, ...], ...] = ()
    problems: tuple[tuple[ObjectRef, Problem], ...] = ()


def stage_of(kind: Kind) -> Stage:
    """Return the stage in which objects of a kind are applied."""
    if (kind.group, kind.kind) == (DEFINITION_KIND.group, DEFINITION_KIND.kind):
        return Stage.DEFINITIONS
    return Stage.NAMESPACES if (kind.group, kind.kind) in FIRST else Stage.OBJECTS


def generated_kind(definition: KubeObject) -> Kind | None:
    """Return the kind that a definition generates; None if its schema names none."""
    return _served(parse(definition).definition)


def definition_waves(definitions: Sequence[KubeObject]) -> Waves:
    """Put definitions after those that generate the kinds they use."""
    parsed = {ObjectRef.of(each): parse(each).definition for each in definitions}
    makers: dict[tuple[str, str], ObjectRef] = {}
    for ref, definition in parsed.items():
        if (kind := _served(definition)) is not None:
            # Of two that generate a kind the first wins; the engine rejects the other.
            makers.setdefault((kind.group, kind.kind), ref)
    needs: dict[ObjectRef, frozenset[ObjectRef]] = {}
    for ref in sorted(parsed, key=apply_key):
        used: set[ObjectRef] = set()
        for resource in parsed[ref].resources:
            version, name = resource.body.get("apiVersion"), resource.body.get("kind")
            if isinstance(version, str) and isinstance(name, str):
                maker = makers.get((Kind.of(version, name).group, name))
                used |= {maker} if maker is not None else set()
        # One that uses its own kind waits for nothing: the compiler rejects it.
        needs[ref] = frozenset(used - {ref})
    found = layers(needs)
    return Waves(found.layers, needs, found.cycles)


def _served(definition: Definition) -> Kind | None:
    schema = definition.schema
    return schema.served if schema.kind and schema.api_version else None


def wave_of(obj: KubeObject) -> int:
    """Return an object's wave; raise UserError if its annotation is no integer."""
    written = _annotation(obj, WAVE)
    if written is None:
        return 0
    if not _WAVE.fullmatch(written.strip()):
        raise UserError(
            "invalid-wave",
            f"{ObjectRef.of(obj)}: {WAVE} is {written!r}, not a whole number",
            hint='write a number in quotes, "-1" or "5" say',
        )
    return int(written)


def depends_on(obj: KubeObject) -> tuple[ObjectKey, ...]:
    """Return the objects that one waits for; raise UserError if its annotation is invalid."""
    written = _annotation(obj, DEPENDS_ON) or ""
    found: list[ObjectKey] = []
    for text in filter(None, map(str.strip, written.split(","))):
        kind, *place = text.split("/")
        name, _, group = kind.partition(".")
        if not name or len(place) not in (1, 2) or not place[-1] or re.search(r"\s", text):
            raise UserError(
                "invalid-depends-on",
                f"{ObjectRef.of(obj)}: {DEPENDS_ON} has {text!r}, which names no object",
                hint="write Kind.group/namespace/name, without a group in the core group, "
                "without a namespace for cluster-scoped objects; commas between several",
            )
        found.append(ObjectKey(group, name, place[0] if len(place) == 2 else "", place[-1]))
    return tuple(dict.fromkeys(found))


def object_order(objects: Sequence[KubeObject], *, earlier: Collection[ObjectRef] = ()) -> Order:
    """
    Put the objects of the last stage into layers.

    Their namespaces are filled in already. `earlier` are the objects of the other stages: to
    depend on them is allowed and changes nothing.
    """
    draft = _Draft.of(objects, {ObjectKey.of(ref) for ref in earlier})
    draft.reject_later_waves()
    draft.reject_cycles()
    draft.reject_followers()
    return draft.order()


def deletion_order(objects: Sequence[KubeObject]) -> tuple[tuple[ObjectRef, ...], ...]:
    """
    Put objects of the last stage into layers of deletion, the last to be applied first.

    Annotations that are invalid, or name objects that stay, are ignored.
    """
    draft = _Draft.of(objects, set())
    draft.forget_problems()
    return tuple(tuple(reversed(layer)) for layer in reversed(draft.order().layers))


@dataclass(slots=True)
class _Draft:
    """Waves and dependencies of objects by number, while invalid ones are sorted out."""

    refs: list[ObjectRef]  # in the order of kinds
    waves: list[int] = field(default_factory=list)
    needs: dict[int, set[int]] = field(default_factory=dict)
    problems: dict[int, Problem] = field(default_factory=dict)

    @classmethod
    def of(cls, objects: Sequence[KubeObject], earlier: Collection[ObjectKey]) -> "_Draft":
        refs = [(ObjectRef.of(each), each) for each in objects]
        named = sorted(refs, key=lambda pair: apply_key(pair[0]))
        draft = cls([ref for ref, _ in named])
        numbers = {ObjectKey.of(ref): number for number, ref in enumerate(draft.refs)}
        spellings = {str(key).lower(): str(key) for key in (*earlier, *numbers)}
        for number, (ref, obj) in enumerate(named):
            draft.needs[number] = set()
            draft.waves.append(0)
            try:
                draft.waves[number] = wave_of(obj)
                keys = depends_on(obj)
            except UserError as error:
                draft._reject(number, error, WAVE if error.code == "invalid-wave" else DEPENDS_ON)
                continue
            draft.needs[number] = {numbers[key] for key in keys if key in numbers}
            for key in keys:
                if key in numbers or key in earlier:
                    continue
                # Kinds are often written in lower case, as kubectl accepts them.
                near = spellings.get(str(key).lower())
                hint = "to wait for another source, name it in spec.dependsOn of this one"
                unknown = UserError(
                    "unknown-dependency",
                    f"{ref} depends on {key}, which is not among the objects of this source",
                    hint=f"did you mean {near}?" if near else hint,
                )
                draft._reject(number, unknown)
        return draft

    def _reject(self, number: int, error: UserError, key: str = DEPENDS_ON) -> None:
        spot = Spot(("metadata", "annotations", key))
        problem = Problem(error.code, error.message, spot, hint=error.hint)
        self.problems.setdefault(number, problem)

    def reject_later_waves(self) -> None:
        """Reject objects that depend on an object of a later wave."""
        for number, needed in self.needs.items():
            latest = max(needed, key=self.waves.__getitem__, default=number)
            if self.waves[latest] > self.waves[number]:
                ref, wave = self.refs[number], self.waves[latest]
                error = UserError(
                    "later-dependency",
                    f"{ref} (wave {self.waves[number]}) depends on {self.refs[latest]}, "
                    f"which is in a later wave ({wave})",
                    hint=f"give it at least wave {wave}",
                )
                self._reject(number, error)

    def reject_cycles(self) -> None:
        """Reject objects that wait for each other."""
        for cycle in layers(self.needs).cycles:
            names = [str(self.refs[number]) for number in cycle]
            if len(names) > _MAX_NAMES:
                more = f"{len(names) - _MAX_NAMES} more"
                names = [*names[: _MAX_NAMES - 2], more, *names[-2:]]
            path = " -> ".join(names)
            for number in cycle:
                error = UserError("object-cycle", f"objects wait for each other: {path}")
                self._reject(number, error)

    def reject_followers(self) -> None:
        """Reject objects that depend on a rejected one."""
        followers = dependents(self.needs)
        pending = list(self.problems)
        while pending:
            rejected = pending.pop()
            for number in followers[rejected]:
                if number not in self.problems:
                    self._reject(number, self._blocked(number, f"depends on {self.refs[rejected]}"))
                    pending.append(number)
        # Cycles beyond those that were reported.
        for number in self._unordered() - self.problems.keys():
            self._reject(number, self._blocked(number, "depends on objects that wait for it"))

    def _blocked(self, number: int, why: str) -> UserError:
        text = f"{self.refs[number]} {why}, which cannot be put in order"
        return UserError("blocked-dependency", text)

    def _unordered(self) -> set[int]:
        found = layers(self.needs).layers
        return self.needs.keys() - {number for layer in found for number in layer}

    def forget_problems(self) -> None:
        """Ignore what cannot be ordered: objects in a cycle, or behind one, wait for nothing."""
        self.problems.clear()
        for number in self._unordered():
            self.needs[number] = set()

    def order(self) -> Order:
        """Return the layers of objects that are not rejected: by wave, then by dependencies."""
        members: dict[int, list[int]] = {}
        for number, wave in enumerate(self.waves):
            if number not in self.problems:
                members.setdefault(wave, []).append(number)
        found: list[tuple[ObjectRef, ...]] = []
        for _, numbers in sorted(members.items()):
            members_of_wave = set(numbers)
            order = layers({number: self.needs[number] & members_of_wave for number in numbers})
            found += [tuple(self.refs[number] for number in layer) for layer in order.layers]
        problems = [(self.refs[number], self.problems[number]) for number in sorted(self.problems)]
        return Order(tuple(found), tuple(problems))


def _annotation(obj: KubeObject, key: str) -> str | None:
    metadata = obj.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    value = annotations.get(key) if isinstance(annotations, dict) else None
    return None if value is None else str(value)
