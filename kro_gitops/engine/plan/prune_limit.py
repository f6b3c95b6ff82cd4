"""
How many children one change may delete, and who approved more.

A change of a definition reaches all its instances, a change of an instance only that one. Children
that are no longer desired are counted by the node that created them:

- A node exceeds the percentage if it loses more than that share of its children. So a node that is
  removed from a definition always does, and a collection that shrinks a little does not.
- The change exceeds the limit if the nodes that exceed the percentage lose more children together
  than the count.

Then none of them is deleted until they are approved: `Held` is what is recorded on the instance.
An approval names the exact set, or the revision that no longer has them. So it does not cover what
a later change deletes.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kro_gitops.engine.applyset import Target, target_of
from kro_gitops.engine.plan.instance import Pass
from kro_gitops.metadata import NODE_ID
from kube_objects.conditions import TRUE, Condition
from kube_objects.refs import KubeObject, ObjectRef

PRUNE_BLOCKED = "PruneBlocked"

_TOKEN_DIGITS = 10
_MAX_NAMED = 3  # children in a message
_COMMIT = re.compile(r"[0-9a-f]{7,64}")


@dataclass(frozen=True, slots=True)
class PruneLimit:
    """A change that exceeds both numbers waits for approval; `origin` is who sets the limit."""

    percent: float
    count: int
    origin: str = ""

    def __str__(self) -> str:
        return f"{self.percent:g} % and {self.count} objects ({self.origin})"


@dataclass(frozen=True, slots=True)
class Leaving:
    """
    The children of one instance that are no longer desired.

    `nodes` counts them by node, `totals` all children of the instance by node. A nested instance
    counts with its own children: `extra` are those.
    """

    children: tuple[ObjectRef, ...] = ()
    nodes: Mapping[str, int] = field(default_factory=dict)
    totals: Mapping[str, int] = field(default_factory=dict)
    extra: int = 0

    @property
    def targets(self) -> frozenset[Target]:
        """Return the keys of the children."""
        return frozenset(map(target_of, self.children))


@dataclass(frozen=True, slots=True)
class Held:
    """
    The children of one instance that wait for approval.

    `total` is how many the whole change would delete, by which it exceeded the limit. `revision` is
    the graph revision, and `generation` that of the instance, when they were held. `instances` is
    how many the change concerns: with several, the definition is what is approved.
    """

    children: tuple[str, ...]
    total: int
    revision: str
    generation: int
    instances: int = 1

    @property
    def token(self) -> str:
        """Return what approves exactly these children, this time."""
        text = "\n".join((self.revision, str(self.generation), *sorted(self.children)))
        return hashlib.blake2b(text.encode(), digest_size=_TOKEN_DIGITS // 2).hexdigest()

    def to_text(self) -> str:
        """Return the value of the annotation."""
        written = {
            "total": self.total,
            "revision": self.revision,
            "generation": self.generation,
            "instances": self.instances,
            "children": sorted(self.children),
        }
        return json.dumps(written, separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> "Held | None":
        """Parse the annotation; None if there is none, or another client wrote something else."""
        try:
            written = json.loads(text) if text else None
        except ValueError:
            return None
        if not isinstance(written, dict):
            return None
        children, total = written.get("children"), written.get("total")
        revision, generation = written.get("revision"), written.get("generation")
        if not isinstance(children, list) or not isinstance(revision, str):
            return None
        if not all(isinstance(each, str) for each in children):
            return None
        instances = written.get("instances")
        if type(total) is not int or type(generation) is not int or type(instances) is not int:
            return None
        return cls(tuple(children), total, revision, generation, instances)


def leaving_children(run: Pass, members: Iterable[KubeObject]) -> list[KubeObject]:
    """
    Return the members that a pass no longer desires.

    While nodes wait, not everything that is desired is known: then members of these nodes are left
    out.
    """
    desired = {target_of(step.ref) for step in run.targets()}
    waiting = {name for name, each in run.runs.items() if not each.is_settled}
    return [
        member
        for member in members
        if target_of(ObjectRef.of(member)) not in desired and node_of(member) not in waiting
    ]


def node_of(member: KubeObject) -> str:
    """Return the id of the node that created a child."""
    found: str = (member["metadata"].get("labels") or {}).get(NODE_ID, "")
    return found


def losses(leaving: Iterable[Leaving], limit: PruneLimit) -> int:
    """Return how many children are lost by nodes that exceed the percentage of a limit."""
    lost: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    extra = 0
    for each in leaving:
        lost.update(each.nodes)
        totals.update(each.totals)
        extra += each.extra
    heavy = sum(
        count
        for node, count in lost.items()
        if 100.0 * count / max(totals[node], count) > limit.percent
    )
    return heavy + extra if heavy else 0


def approves(value: str, revision: str) -> bool:
    """Return whether an approval names the commit of a revision (`main@sha1:…`), or its start."""
    commit = revision.rpartition(":")[2]
    text = value.strip().rpartition(":")[2]
    return bool(_COMMIT.fullmatch(text)) and bool(commit) and commit.startswith(text)


def held_condition(held: Held, limit: PruneLimit, approve: str) -> Condition:
    """Return the condition of an instance whose children are held; `approve` is the command."""
    of_all = f" of {held.instances} instances" if held.instances > 1 else ""
    text = (
        f"{held.total} children{of_all} would be deleted by one change, which exceeds "
        f"the limit of {limit}; none is deleted. Of this instance: {named(held.children)}. "
        f"To delete them: `kro-gitops approve {approve}`; to keep them: revert the change"
    )
    return Condition(PRUNE_BLOCKED, TRUE, "LimitExceeded", text)


def definition_condition(
    name: str, revision: str, held: Iterable[Held], limit: PruneLimit
) -> Condition:
    """Return the condition of a definition whose change is held."""
    found = tuple(held)
    total = max((each.total for each in found), default=0)
    children = [child for each in found for child in each.children]
    text = (
        f"{revision} would delete {total} children of {len(found)} instances "
        f"({named(children)}), which exceeds the limit of {limit}; none is deleted. To delete "
        f"them: `kro-gitops approve rgd/{name}`; to keep them: revert the change"
    )
    return Condition(PRUNE_BLOCKED, TRUE, "LimitExceeded", text)


def named(children: Iterable[str]) -> str:
    """Return the first few children, and how many more there are."""
    listed = sorted(children)
    more = [f"and {len(listed) - _MAX_NAMED} more"] if len(listed) > _MAX_NAMED else []
    return ", ".join([*listed[:_MAX_NAMED], *more])
