"""
Which children of a source's instances wait for approval, as instances and definitions report it.
"""

from dataclasses import replace

from kro_gitops.engine.plan.prune_limit import PRUNE_BLOCKED, Held
from kro_gitops.metadata import HELD_CHILDREN
from kro_gitops.source.controllers.context import EngineCache
from kro_gitops.source.controllers.state import SourceState
from kro_gitops.source.plan.result import SyncResult
from kro_gitops.source.plan.stages import Stage
from kube_objects.conditions import TRUE, parse_conditions
from kube_objects.refs import KubeObject

_MAX_NAMED = 3


def with_held_children(state: SourceState, engine: EngineCache) -> SyncResult:
    """
    Return the result with the children that are held; wake instances that may delete them now.

    A definition reports a change that concerns several instances, so those are not named again.
    """
    definitions: list[str] = []
    instances: list[str] = []
    children, kind, is_instance = 0, None, False
    for entry in state.inventory:
        if entry.ref.kind is not kind:
            kind = entry.ref.kind
            is_instance = engine.is_instance(kind)
        if entry.stage == Stage.DEFINITIONS.name:
            text = _message(engine.definition(entry.ref.name))
            if text:
                definitions.append(f"{entry.ref}: {text}")
        if not is_instance:
            continue
        found = engine.instance(entry.ref)
        held = _held(found)
        if found is None or held is None:
            continue
        children += len(held.children)
        if state.allows_prune:
            engine.wake(entry.ref)
        instances.append(f"{entry.ref}: {_message(found)}")
    listed = definitions or instances
    more = f"; and {len(listed) - _MAX_NAMED} more" if len(listed) > _MAX_NAMED else ""
    text = "; ".join(listed[:_MAX_NAMED]) + more
    return replace(state.result or SyncResult(), held=text, held_children=children)


def _held(instance: KubeObject | None) -> Held | None:
    metadata = instance["metadata"] if instance is not None else {}
    return Held.parse((metadata.get("annotations") or {}).get(HELD_CHILDREN, ""))


def _message(obj: KubeObject | None) -> str:
    found = (each for each in parse_conditions(obj or {}) if each.type == PRUNE_BLOCKED)
    return next((each.message or "" for each in found if each.status == TRUE), "")
