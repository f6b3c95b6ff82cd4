"""
What is to be done for a source, and with which of its objects.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TypeVar

from kro_gitops.errors import KroGitopsError
from kro_gitops.kube.api import Cluster
from kro_gitops.source.accounts import Account
from kro_gitops.source.controllers.observing import SourceObserver
from kro_gitops.source.controllers.registry import Held
from kro_gitops.source.desired import Wanted
from kro_gitops.source.spec import SourceSpec
from kro_gitops.tracking.inventory import Key
from kro_gitops.tracking.methods import ArgoCD
from kube_objects.refs import Kind, KubeObject

_AT_ONCE = 16
_T = TypeVar("_T")
_R = TypeVar("_R")


@dataclass(slots=True)
class Errand:
    """For which source, as whom, and what came of it."""

    held: Held
    spec: SourceSpec
    cluster: Cluster  # acting as the source's account
    account: Account
    argocd: ArgoCD = field(default_factory=ArgoCD)
    observer: SourceObserver = field(default_factory=SourceObserver)
    # Kinds whose schema changed just now: another API server may still have the old one.
    fresh: set[Kind] = field(default_factory=set)
    is_held_up: bool = False  # something must go before it can be made anew
    denied: set[Key] = field(default_factory=set)  # what the account has no right to
    done: int = 0  # objects that are as they should be

    def step(self, name: str) -> AbstractContextManager[None]:
        """Take the time of a step."""
        return self.observer.step(self.held.name, name)


@dataclass(slots=True)
class Target:
    """An object that is not as git wants it, and how it is there now."""

    wanted: Wanted
    live: KubeObject | None
    is_ours: bool
    adopts: bool
    is_replaced: bool = False  # it cannot be changed: it is deleted and made anew

    def gets_another_uid(self, than: str) -> bool:
        """Say whether the object will not be the one that has this uid."""
        return self.live is None or self.is_replaced or self.live["metadata"]["uid"] != than

    @property
    def force(self) -> bool:
        """Say whether fields are taken from whoever has them."""
        return self.is_ours or self.adopts


async def each_of(values: Iterable[_T], work: Callable[[_T], Awaitable[_R]]) -> list[_R]:
    """
    Do something with each value, some at once; return the results in order.

    An error that is expected is raised as it is, not in a group that nobody catches.
    """
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(value: _T) -> _R:
        async with gate:
            return await work(value)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(value)) for value in values]
    except ExceptionGroup as error:
        first = error.exceptions[0]
        if all(isinstance(each, KroGitopsError) for each in error.exceptions):
            raise first from error
        raise
    return [task.result() for task in tasks]
