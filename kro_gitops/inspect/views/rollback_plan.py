"""
The plan in the status of a source: what another pin would change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kro_gitops.inspect.views.instances import text_at
from kro_gitops.inspect.views.sources import whole
from kro_gitops.tracking.workload_health import mapping
from kube_objects.refs import KubeObject


@dataclass(frozen=True, slots=True)
class Planned:
    """An object of a plan; without an action it only has children that change."""

    group: str
    kind: str
    namespace: str
    name: str
    action: str = ""
    file: str = ""
    is_uncertain: bool = False
    instance: "Planned | None" = None

    @property
    def key(self) -> tuple[str, ...]:
        """Return what identifies the object."""
        return self.group, self.kind, self.namespace, self.name


@dataclass(frozen=True, slots=True)
class RollbackPlan:
    """A plan, as it was read; `data` is all of it."""

    request: str
    revision: str
    created: int
    changed: int
    deleted: int
    changes: tuple[Planned, ...]
    omitted: int
    failures: tuple[str, ...]
    notes: tuple[str, ...]
    error_message: str  # why there is none
    data: Mapping[str, Any]


def parse_plan(source: KubeObject) -> RollbackPlan | None:
    """Return the plan in the status of a source; None without one."""
    found = mapping(source, "status", "plan")
    if not found:
        return None
    return RollbackPlan(
        text_at(found, "request"),
        text_at(found, "revision"),
        whole(found, "created"),
        whole(found, "changed"),
        whole(found, "deleted"),
        tuple(map(_planned, _list(found, "objects"))),
        whole(found, "objectsOmitted"),
        tuple(map(str, _list(found, "failures"))),
        tuple(map(str, _list(found, "notes"))),
        text_at(mapping(found, "error"), "message"),
        {key: value for key, value in found.items() if key != "request"},
    )


def _planned(written: object) -> Planned:
    each = mapping(written)
    instance = mapping(each, "instance")
    return Planned(
        text_at(each, "group"),
        text_at(each, "kind"),
        text_at(each, "namespace"),
        text_at(each, "name"),
        text_at(each, "action"),
        text_at(each, "file"),
        is_uncertain=each.get("uncertain") is True,
        instance=_planned(instance) if instance else None,
    )


def _list(found: Mapping[str, Any], name: str) -> list[Any]:
    listed = found.get(name)
    return listed if isinstance(listed, list) else []
