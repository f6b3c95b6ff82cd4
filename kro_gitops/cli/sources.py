"""
What the verbs about sources share: finding them and changing them.
"""

import argparse
import sys
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from kro_gitops.cli.argument_types import SourceName
from kro_gitops.cli.cluster_reading import rejected
from kro_gitops.cli.cluster_session import Session, run_on_cluster
from kro_gitops.cli.confirmation import confirm
from kro_gitops.cli.exit_codes import PROBLEMS
from kro_gitops.cli.messages import counted, failure_text, say, style_of, wrong_usage
from kro_gitops.cli.tables import Row, print_table
from kro_gitops.errors import KroGitopsError, UserError
from kro_gitops.inspect.views.instances import age, in_order
from kro_gitops.inspect.views.sources import source_row
from kro_gitops.kube.access_review import Permission
from kro_gitops.kube.api import MergePatch, WriteOptions
from kro_gitops.kube.responses import Forbidden
from kro_gitops.source.kinds import GIT_SOURCE_KIND
from kube_objects.refs import KubeObject, ObjectRef

MANAGER = "kro-gitops-cli"  # the field manager of what verbs change
_MAX_NAMES = 10
_HEADER = ("NAMESPACE", "NAME", "READY", "REVISION", "AGE", "MESSAGE")


def run_on_source(
    args: argparse.Namespace, work: Callable[[Session, KubeObject], Awaitable[int]]
) -> int:
    """Connect, find the source that is named, do the work and return its exit code."""

    async def find_and_work(session: Session) -> int:
        return await work(session, await find_source(session, args.source))

    if args.source is None:
        return wrong_usage(args.verb, "SOURCE is missing: name a source, or give --all")
    if getattr(args, "all_namespaces", False):
        return wrong_usage(args.verb, "-A needs --all: a source is named as NAMESPACE/NAME")
    namespace = args.source.namespace
    if namespace and args.namespace and namespace != args.namespace:
        text = f"SOURCE is in namespace '{namespace}', but -n is '{args.namespace}'"
        return wrong_usage(args.verb, text)
    return run_on_cluster(args, find_and_work)


def change_all(
    args: argparse.Namespace,
    work: Callable[[Session, KubeObject], Awaitable[int]],
    is_concerned: Callable[[KubeObject], bool],
) -> int:
    """
    Change all sources of a namespace, or of the cluster, that are concerned.

    They are listed before the user is asked. An error of one does not keep the others from being
    changed; the exit code is the highest.
    """
    if args.source is not None:
        return wrong_usage(args.verb, "SOURCE and --all cannot be used together")

    async def change_each(session: Session) -> int:
        listed = in_order(await session.reading.own(GIT_SOURCE_KIND, session.searched))
        concerned = list(filter(is_concerned, listed))
        others = len(listed) - len(concerned)
        if not concerned:
            say(f"no source of {session.place} has to be changed")
            return 0
        now = datetime.now(UTC)
        print_table(_HEADER, [_row(source, now) for source in concerned], args)
        beside = f"; {counted(others, 'other')} not changed" if others else ""
        number = counted(len(concerned), "source")
        question = f"{args.verb.capitalize()} {number} of {session.place}{beside}?"
        code = confirm(args, question)
        if code:
            return code
        for source in concerned:
            try:
                code = max(code, await work(session, source))
            except KroGitopsError as error:
                say(failure_text(error, style_of(args, sys.stderr)))
                code = PROBLEMS
        return code

    return run_on_cluster(args, change_each)


def _row(source: KubeObject, now: datetime) -> Row:
    row = source_row(source)
    cells = (row.ref.namespace, row.ref.name, row.ready, row.revision, age(row.created, now))
    return Row((*cells, row.message))


async def find_source(session: Session, name: SourceName) -> KubeObject:
    """Return a source; raise UserError with the names of all sources if there is none."""
    namespace = name.namespace or session.namespace
    resource = await session.reading.own_resource(GIT_SOURCE_KIND)
    found = await session.reading.find(resource, namespace, name.name)
    if found is not None:
        return found
    try:
        listed = in_order(await session.reading.own(GIT_SOURCE_KIND))
    except KroGitopsError:  # listing all namespaces may be forbidden
        hint = "`kro-gitops get sources` lists those of a namespace"
    else:
        names = ", ".join(place(source) for source in listed[:_MAX_NAMES]) or "none"
        hint = f"there are: {names}{', …' if len(listed) > _MAX_NAMES else ''}"
    text = f"there is no source '{name.name}' in namespace '{namespace}'"
    raise UserError("no-such-object", text, hint=hint)


async def change(session: Session, source: KubeObject, changes: Mapping[str, Any]) -> KubeObject:
    """Patch some fields of a source, and return it with the changes."""
    ref = ObjectRef.of(source)
    try:
        return await session.cluster.patch(ref, MergePatch(changes), WriteOptions(MANAGER))
    except Forbidden as error:
        resource = await session.reading.own_resource(ref.kind)
        raise rejected(error, Permission("patch", resource, ref.namespace)) from None


def generation(source: KubeObject) -> int:
    """Return the generation of a source's spec; 0 if it has none."""
    number = source["metadata"].get("generation")
    return number if type(number) is int else 0


def place(source: KubeObject) -> str:
    """Return `namespace/name`."""
    return ObjectRef.of(source).place
