"""
A cluster in a dictionary: as much of an API server as a pass over an instance can notice.

It keeps what was applied, with a version, a uid and the note of who set which field. Steps of a
pass are carried out one by one, and their order is kept for tests to look at.
"""

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.engine.plan.children import Family, Rules
from kro_gitops.engine.plan.evaluation import Bounds
from kro_gitops.engine.plan.instance import Pass
from kro_gitops.engine.plan.knowledge import LiveKnowledge
from kro_gitops.engine.plan.steps import Apply, Read, Select, Step
from kro_gitops.engine.watchset import SelectorWatch
from kro_gitops.metadata import CHILD_MANAGER
from kube_objects.managed_fields import CachedObject, pack_owned_fields
from kube_objects.refs import KubeObject, ObjectRef

Change = Callable[[KubeObject], None]


class SmallCluster:
    """Children by name, and what others made."""

    def __init__(self, *others: KubeObject) -> None:
        self.children: dict[ObjectRef, CachedObject] = {}
        self.others = {ObjectRef.of(obj): obj for obj in others}
        self.steps: list[Step] = []
        self.refused: dict[str, str] = {}  # names that cannot be applied, and why
        self._versions = count(1)

    def child(self, ref: ObjectRef) -> KubeObject | None:
        return self.children.get(ref)

    @property
    def names(self) -> list[str]:
        return [ref.name for ref in self.children]

    @property
    def applied(self) -> list[str]:
        """Return the children that were applied, in order."""
        return [each.ref.name for each in self.steps if isinstance(each, Apply)]

    def named(self, name: str) -> CachedObject:
        return next(obj for ref, obj in self.children.items() if ref.name == name)

    def change(self, name: str, change: Change) -> None:
        """Let somebody change a child without touching what we own."""
        kept = self.named(name)
        made = json.loads(json.dumps(kept))
        change(made)
        self.put(made, kept.owned)

    def put(self, obj: KubeObject, owned: bytes = b"") -> CachedObject:
        number = next(self._versions)
        metadata = {"uid": f"uid-{number}", **obj["metadata"], "resourceVersion": str(number)}
        kept = CachedObject({**obj, "metadata": metadata}, owned)
        self.children[ObjectRef.of(obj)] = kept
        return kept

    def begin(self, graph: Graph, instance: KubeObject, bounds: Bounds | None = None) -> Pass:
        """Begin a pass."""
        named = {"uid": "uid-of-instance", "generation": 1, **instance["metadata"]}
        parent = {**instance, "metadata": named}
        family = Family(parent, Rules())
        return Pass(graph, parent, family, LiveKnowledge(self), bounds or Bounds())

    def run(self, graph: Graph, instance: KubeObject, bounds: Bounds | None = None) -> Pass:
        """Carry a pass out until it asks for nothing more."""
        self.steps = []
        made = self.begin(graph, instance, bounds)
        while steps := made.advance():
            for step in steps:
                self.steps.append(step)
                self.carry_out(made, step)
        return made

    def carry_out(self, run: Pass, step: Step) -> None:
        match step:
            case Apply():
                if step.ref.name in self.refused:
                    run.failed(step, self.refused[step.ref.name])
                else:
                    run.applied(step, self.apply(step.object))
            case Read():
                found = self.others.get(step.ref)
                run.found(step, [found] if found is not None else [])
            case Select():
                run.found(step, list(self._selected(step)))

    def apply(self, obj: KubeObject) -> CachedObject:
        """Have an object as it is applied; what others set of it stays."""
        live = self.children.get(ObjectRef.of(obj))
        made = {**(live or {}), **json.loads(json.dumps(obj))}
        if live is not None:
            made["metadata"] = {"uid": live["metadata"]["uid"], **made["metadata"]}
        return self.put(made, owned(recorded(obj)))

    def _selected(self, step: Select) -> Iterator[KubeObject]:
        wanted = SelectorWatch(step.kind, step.namespace, step.selector)
        for ref in sorted(self.others):
            if ref.kind == step.kind and wanted.matches(self.others[ref]):
                yield self.others[ref]


def owned(fields: dict[str, Any]) -> bytes:
    """Return what is kept of an entry that says which fields are ours."""
    entry = {"manager": CHILD_MANAGER, "operation": "Apply", "fieldsV1": fields}
    return pack_owned_fields({"metadata": {"managedFields": [entry]}}, CHILD_MANAGER)


def recorded(obj: KubeObject) -> dict[str, Any]:
    """Return what the API server notes as ours of an object that was applied; lists are one."""
    unrecorded = ("apiVersion", "kind")
    found = _fields({key: value for key, value in obj.items() if key not in unrecorded})
    for name in ("f:name", "f:namespace"):
        found["f:metadata"].pop(name, None)
    return found


def _fields(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {}
    return {f"f:{key}": _fields(child) for key, child in value.items()}
