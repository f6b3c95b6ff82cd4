"""
What a rollback is about: a source, or one instance or definition of a source.
"""

from dataclasses import dataclass

from kro_gitops.cli.argument_types import SourceName, Target
from kro_gitops.cli.cluster_session import Session
from kro_gitops.cli.instances import find_definition, find_instances
from kro_gitops.cli.sources import find_source
from kro_gitops.errors import UserError
from kro_gitops.inspect.kind_lookup import find_offer, means_definition, means_source
from kro_gitops.inspect.views.instances import text_at
from kro_gitops.metadata import SOURCE
from kro_gitops.source.kinds import GIT_SOURCE_KIND
from kube_objects.refs import KubeObject, ObjectRef


@dataclass(frozen=True, slots=True)
class RollbackTarget:
    """A source, and the object of it that is meant; None: all of the source."""

    source: KubeObject
    object: KubeObject | None = None


async def find_target(session: Session, named: SourceName) -> RollbackTarget:
    """
    Find what `NAME`, `NAMESPACE/NAME` or `KIND/NAME` means; raise UserError.

    A kind that is also the namespace of a source of that name is ambiguous.
    """
    word = named.namespace
    if not word:
        return RollbackTarget(await find_source(session, named))
    if means_source(word):
        return RollbackTarget(await find_source(session, SourceName(named.name)))
    definitions = await session.reading.definitions()
    is_definition = means_definition(word)
    offers = [] if is_definition else await session.reading.offers(definitions)
    if not is_definition and find_offer(word, offers) is None:
        return RollbackTarget(await find_source(session, named))
    resource = await session.reading.own_resource(GIT_SOURCE_KIND)
    if await session.reading.find(resource, word, named.name) is not None:
        raise UserError(
            "ambiguous-kind",
            f"'{word}/{named.name}' is a source, and '{word}' is a kind, too",
            hint=f"write source/{named.name} -n {word}, or the full name of the kind",
        )
    if is_definition:
        found = find_definition(definitions, named.name)
    else:
        target = Target(word, named.name)
        found = (await find_instances(session, definitions, target)).objects[0]
    owner = text_at(found, "metadata", "annotations", SOURCE)
    namespace, _, name = owner.partition("/")
    if not name:
        raise UserError(
            "no-such-object",
            f"{ObjectRef.of(found)} is not from git: no source applied it",
            hint="only objects of a source can be rolled back",
        )
    return RollbackTarget(await find_source(session, SourceName(name, namespace)), found)
