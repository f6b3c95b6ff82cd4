"""
Instances that are named on the command line: found, or a word about what is there instead.
"""

from dataclasses import dataclass

from kro_gitops.cli.cluster_options import Session, Target
from kro_gitops.errors import UserError
from kro_gitops.inspect.kind_lookup import Offer, find_offer, unknown_kind
from kro_gitops.inspect.views.instances import by_kind_made, in_order, is_instance, text_at
from kro_gitops.metadata import INSTANCE_KIND, INSTANCE_NAME
from kube_objects.refs import KubeObject, ObjectRef


@dataclass(frozen=True, slots=True)
class Found:
    """The kind that was meant, and its objects."""

    offer: Offer
    objects: tuple[KubeObject, ...]


async def find_instances(session: Session, definitions: list[KubeObject], wanted: Target) -> Found:
    """Return the instances that are meant: one by name, or all of a kind."""
    offers = await session.reading.offers(definitions)
    offer = find_offer(wanted.kind, offers)
    if offer is None:
        # A definition may be gone while its kind and instances are still there.
        offer = find_offer(wanted.kind, await session.reading.all_offers())
    if offer is None:
        raise unknown_kind(wanted.kind, offers)
    objects = await _objects(session, offer, wanted.name)
    if wanted.name and not objects:
        raise _no_such_object(session, offer, wanted.name)
    known = by_kind_made(definitions)
    for obj in objects:
        if not is_instance(obj, known):
            raise _no_instance(obj)
    return Found(offer, tuple(in_order(objects)))


async def _objects(session: Session, offer: Offer, name: str) -> list[KubeObject]:
    if name and not session.everywhere:
        found = await session.reading.find(offer.resource, session.namespace, name)
        return [found] if found is not None else []
    listed = await session.reading.objects([offer], session.searched)
    return [each for each in listed if not name or ObjectRef.of(each).name == name]


def _no_such_object(session: Session, offer: Offer, name: str) -> UserError:
    place = f" in {session.place}" if offer.resource.namespaced else ""
    return UserError(
        "no-such-object",
        f"there is no {offer.resource.kind.kind} '{name}'{place}",
        hint="`kro-gitops get instances -A` lists all there are",
    )


def _no_instance(obj: KubeObject) -> UserError:
    """Say that an object is no instance, and of which it is a child."""
    kind = text_at(obj, "metadata", "labels", INSTANCE_KIND)
    name = text_at(obj, "metadata", "labels", INSTANCE_NAME)
    hint = f"it was made by {kind}/{name}: ask about that" if kind and name else ""
    return UserError("not-an-instance", f"{ObjectRef.of(obj)} is no instance", hint=hint)
