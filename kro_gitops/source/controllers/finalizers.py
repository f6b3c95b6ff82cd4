"""
Our finalizer on sources: put there before anything is made, taken away when all is done.
"""

from kro_gitops.errors import NotYet
from kro_gitops.kube.api import MergePatch, Writer
from kro_gitops.kube.informer import Informer
from kro_gitops.kube.responses import Conflict, NotFound
from kro_gitops.metadata import SOURCE_FINALIZER
from kro_gitops.source.controllers.registry import Held


class Finalizers:
    """Sets and removes them."""

    def __init__(self, writer: Writer, informer: Informer) -> None:
        self._writer = writer
        self._informer = informer

    async def ensure(self, held: Held) -> None:
        """See to it that a source waits for us when it is deleted."""
        there = held.source["metadata"].get("finalizers") or []
        if SOURCE_FINALIZER not in there:
            await self._set(held, [*there, SOURCE_FINALIZER])

    async def remove(self, held: Held) -> None:
        """Let a source go."""
        there = held.source["metadata"].get("finalizers") or []
        await self._set(held, [each for each in there if each != SOURCE_FINALIZER])

    async def _set(self, held: Held, finalizers: list[str]) -> None:
        # With the version: a finalizer that somebody adds meanwhile must not be lost.
        version = held.source["metadata"]["resourceVersion"]
        changes = {"metadata": {"resourceVersion": version, "finalizers": finalizers}}
        try:
            answer = await self._writer.patch(held.key, MergePatch(changes))
        except NotFound:
            return
        except Conflict as error:
            raise NotYet(error.code, error.message) from error
        answer["metadata"].pop("managedFields", None)
        self._informer.saw(answer)
        held.source = answer
