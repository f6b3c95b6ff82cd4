"""
Instances and definitions that are named on the command line.
"""

from dataclasses import dataclass

from kro_gitops.cli.argument_types import Target
from kro_gitops.cli.cluster_session import Session
from kro_gitops.errors import UserError
from kro_gitops.inspect.kind_lookup import Offer, find_offer, unknown_kind
from kro_gitops.inspect.views.instances import by_kind_made, in_order, is_instance, text_at
from kro_gitops.metadata import INSTANCE_KIND, INSTANCE_NAME
from kube_objects.refs import KubeObject, ObjectRef


@dataclass(frozen=True, slots=True)
class Found:
    """The kind that was asked for, and its objects."""

    offer: Offer
    objects: tuple[KubeObject, ...]


def find_definition(listed: list[KubeObject], name: str) -> KubeObject:
    """Return the definition of a name; raise UserError with the names of all definitions."""
    by_name = {each["metadata"]["name"]: each for each in listed}
    if name not in by_name:
        text = f"there is no definition '{name}'"
        hint = f"there are: {', '.join(by_name) or 'none'}"
        raise UserError("no-such-object", text, hint=hint)
    return by_name[name]


async def find_instances(session: Session, definitions: list[KubeObject], target: Target) -> Found:
    """Return the instances that were asked for: one by name, or all of a kind; raise UserError."""
    offers = await session.reading.offers(definitions)
    offer = find_offer(target.kind, offers)
    if offer is None:
        # A definition may have been deleted while its kind and instances are still there.
        offer = find_offer(target.kind, await session.reading.all_offers())
    if offer is None:
        raise unknown_kind(target.kind, offers)
    if target.name and not session.everywhere:
        found = await session.reading.find(offer.resource, session.namespace, target.name)
        objects = [found] if found is not None else []
    else:
        listed = await session.reading.objects([offer], session.searched)
        objects = [obj for obj in listed if target.name in ("", ObjectRef.of(obj).name)]
    if target.name and not objects:
        place = f" in {session.place}" if offer.resource.namespaced else ""
        raise UserError(
            "no-such-object",
            f"there is no {offer.resource.kind.kind} '{target.name}'{place}",
            hint="`kro-gitops get instances -A` lists all instances",
        )
    known = by_kind_made(definitions)
    for obj in objects:
        if not is_instance(obj, known):
            kind = text_at(obj, "metadata", "labels", INSTANCE_KIND)
            name = text_at(obj, "metadata", "labels", INSTANCE_NAME)
            hint = f"it is a child of {kind}/{name}: ask for that" if kind and name else ""
            text = f"{ObjectRef.of(obj)} is not an instance"
            raise UserError("not-an-instance", text, hint=hint)
    return Found(offer, tuple(in_order(objects)))
