"""
Two tenants and a platform on one cluster, and what a tenant must not get.

Tenant A attacks. It has a repository that a closed source follows as the service account
`deployer`, and kubectl with rights in its own namespace only. Tenant B and the platform have
secrets and objects that A must neither read nor change.
"""

import asyncio
import base64
import json
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kro_gitops.errors import KroGitopsError
from kro_gitops.kube.api import Cluster, Identity, MergePatch, Selection
from kro_gitops.metadata import SOURCE
from kro_gitops.source.api.resources import GIT_SOURCE_KIND, SOURCE_INVENTORY_KIND
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.e2e.following.objects import RBAC
from tests.e2e.following.world import CONFIG_MAP, Git, SourceWorld, config_map
from tests.e2e.scenarios.controllers import Controller, Flag

SECRET = Kind("", "v1", "Secret")
CLUSTER_ROLE_BINDING = Kind(RBAC, "v1", "ClusterRoleBinding")
ROLE_BINDING = Kind(RBAC, "v1", "RoleBinding")
NAME = "${schema.metadata.name}"
DEPLOYER = "deployer"
TARGET = "target"  # ConfigMaps that exist in every namespace that is not A's
TARGETS = (TARGET, *(f"{TARGET}-{by}-{n}" for by in ("git", "kubectl") for n in range(3)))
FOLDERS = ("apps", "kinds")  # of A's repository
LOGIN = "login"  # a Secret, likewise
SYSTEM = "kube-system"
OPEN: Mapping[str, Flag] = {
    "sources": True,
    "allow_private_networks": True,
    "allow_plain_http": True,
    "instance_requeue_interval": "1s",
    "leader_election_namespace": SYSTEM,
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """
    Objects that would give A more than it has; `objects` gets the name of the loot.

    Each `folder` of the repository has a source of its own: instances whose definition stands
    beside them are not applied before it is.
    """

    name: str
    objects: Callable[["Stage", str], Iterable[KubeObject]]
    folder: str = "apps"


@dataclass(slots=True)
class Stage:
    """The cluster, as tenant A meets it; names of loot begin with `loot-`."""

    world: SourceWorld  # of tenant A
    victim: str  # the namespace of tenant B
    platform: str  # a namespace of the platform
    has_default_account: bool
    canary: str = field(default_factory=lambda: f"canary{secrets.token_hex(8)}")
    before: dict[ObjectRef, KubeObject] = field(default_factory=dict)
    given: dict[str, KubeObject] = field(default_factory=dict)  # instances of others, by name

    @property
    def foreign(self) -> tuple[str, ...]:
        """Return the namespaces in which A must not touch anything."""
        return self.victim, self.platform, SYSTEM

    @classmethod
    async def open(
        cls, cluster: Cluster, controller: Controller, git: Git, has_default_account: bool
    ) -> "Stage":
        """Create what belongs to the platform and to B, and the few rights of A."""
        world = SourceWorld(cluster, controller, git)
        await world.open()
        victim, platform = await world.another_namespace(), await world.another_namespace()
        stage = cls(world, victim, platform, has_default_account)
        for namespace in stage.foreign:
            for name in TARGETS:
                await world.create(placed(config_map(name, kept="yes"), namespace))
            token = base64.b64encode(stage.canary.encode()).decode()
            metadata = {"name": LOGIN, "labels": {"app": LOGIN}}
            body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
            await world.create(placed({**body, "data": {"token": token}}, namespace))
        for definition in definitions(world):
            await world.active(await world.create(definition))
        for namespace in (world.namespace, victim):
            await stage._grant(namespace)
        if has_default_account:  # which then acts for the platform, too
            await world.create(service_account(platform))
            subject = {"kind": "ServiceAccount", "name": DEPLOYER, "namespace": platform}
            binding = role_binding("cluster-admin", "ClusterRole", subject)
            metadata = {"name": f"platform-{world.token}"}
            await world.create({**binding, "kind": "ClusterRoleBinding", "metadata": metadata})
        rules = [rule("", ["configmaps"]), rule("gitops.kro.run", ["sourceinventories"])]
        if has_default_account:
            # Without such an account instances act as the controller: the platform's alone.
            rules += [rule(world.group, ["*"]), rule("gitops.kro.run", ["gitsources"])]
        await stage._bind("tenant-a", world.namespace, rules, {"kind": "User", "name": "tenant-a"})
        for name, namespace in (("shared", platform), ("calm", victim)):
            made = world.instance("Spread", name, {"place": namespace}, namespace=namespace)
            await world.create(made)
            await world.settled(made)
            stage.given[name] = await world.get(made)
        for namespace in stage.foreign:
            for kind, name in (*((CONFIG_MAP, each) for each in TARGETS), (SECRET, LOGIN)):
                ref = ObjectRef(kind, namespace, name)
                stage.before[ref] = await world.get(ref)
        for name, instance in stage.given.items():  # and the children of others
            ref = ObjectRef(CONFIG_MAP, instance["metadata"]["namespace"], name)
            stage.before[ref] = await world.get(ref)
        return stage

    # What A does

    async def plant(self, by_git: Iterable[Attempt], by_kubectl: Iterable[Attempt]) -> int:
        """Commit and create what attempts consist of; return how many objects are there."""
        world, files = self.world, {}
        for number, attempt in enumerate(by_git):
            for part, obj in enumerate(attempt.objects(self, f"loot-git-{number}")):
                files[f"{attempt.folder}/{number}-{part}.yaml"] = obj
        world.commit(files)
        for name in FOLDERS:
            await world.create(self.source(name, paths=[name], serviceAccountName=DEPLOYER))
        for name in FOLDERS:
            await world.reported("Ready", "False", name=name, within=60.0)
        for number, attempt in enumerate(by_kubectl):
            for obj in attempt.objects(self, f"loot-kubectl-{number}"):
                await self.as_tenant(partial(_create, obj))
        await self.settle()
        found = await self.instances()
        by_source = [obj for obj in found if SOURCE in obj["metadata"].get("annotations", {})]
        kinds = {obj["kind"] for obj in by_source if "-git-" in obj["metadata"]["name"]}
        assert kinds == set(KINDS), f"attempts by git are held for another reason: only {kinds}"
        return len(found)

    async def as_tenant(self, act: Callable[[Cluster], Awaitable[object]]) -> None:
        """Do something as the user tenant-a; what the API server rejects is held already."""
        tenant = Identity("tenant-a", groups=("system:authenticated",))
        with suppress(KroGitopsError):
            await act(self.world.cluster.acting_as(tenant))

    async def instances(self) -> list[KubeObject]:
        """List all instances in A's namespace."""
        found: list[KubeObject] = []
        for name in KINDS:
            kind = Kind(self.world.group, "v1alpha1", name)
            selection = Selection(kind, self.world.namespace)
            found += (await self.world.cluster.list(selection, _whole)).items
        return found

    async def wake(self) -> None:
        """Have every instance of A reconciled."""
        for instance in await self.instances():
            changes = {"metadata": {"annotations": {"example.org/woken": secrets.token_hex(4)}}}
            with suppress(KroGitopsError):
                await self.world.cluster.patch(ObjectRef.of(instance), MergePatch(changes))

    async def settle(self) -> None:
        """Wait until every instance of A was reconciled; none of them may become ready."""

        async def check() -> None:
            for instance in await self.instances():
                assert instance.get("status"), ObjectRef.of(instance)

        await self.world.until(check, 40.0)
        await asyncio.sleep(3.0)  # nothing is expected to happen: so there is nothing to wait for

    async def orphan(self) -> None:
        """Delete A's sources, and have their instances stay."""
        for name in FOLDERS:
            ref = self.world.source_ref(name)
            await self.world.cluster.patch(ref, MergePatch({"spec": {"deletionPolicy": "Orphan"}}))
            await self.world.delete(ref)

    # What must not come of it

    async def is_victim_served(self) -> None:
        """Fail unless B's instance is still reconciled."""
        ref = ObjectRef(CONFIG_MAP, self.victim, "calm")
        former = (await self.world.get(ref))["metadata"]["uid"]
        await self.world.delete(ref)

        async def check() -> None:
            assert (await self.world.get(ref))["metadata"]["uid"] != former

        await self.world.until(check, 20.0)

    async def loot(self) -> list[str]:
        """Return everything that A has got and must not have."""
        found: list[str] = []
        cluster = self.world.cluster
        for kind in (CONFIG_MAP, ROLE_BINDING, SECRET):
            for namespace in self.foreign:
                listing = await cluster.list(Selection(kind, namespace), _whole)
                names = (obj["metadata"]["name"] for obj in listing.items)
                found += [f"{kind.kind} {namespace}/{n}" for n in names if n.startswith("loot-")]
        listing = await cluster.list(Selection(CLUSTER_ROLE_BINDING), _whole)
        names = (obj["metadata"]["name"] for obj in listing.items)
        found += [f"ClusterRoleBinding {n}" for n in names if n.startswith("loot-")]
        for ref, before in self.before.items():
            now = await cluster.find(ref)
            if now is None or now["metadata"]["uid"] != before["metadata"]["uid"]:
                found.append(f"{ref} was deleted")
            elif now.get("data") != before.get("data") or _marks(now) != _marks(before):
                found.append(f"{ref} was changed")
        listing = await cluster.list(Selection(CONFIG_MAP, self.world.namespace), _whole)
        for obj in (*listing.items, *await self.instances()):
            text = json.dumps(obj)
            if self.canary in text or base64.b64encode(self.canary.encode()).decode() in text:
                found.append(f"{ObjectRef.of(obj)} shows a Secret of another namespace")
        return found

    # Building

    def source(self, name: str, **spec: Any) -> KubeObject:
        """Build a GitSource of A's repository."""
        return {
            "apiVersion": GIT_SOURCE_KIND.api_version,
            "kind": GIT_SOURCE_KIND.kind,
            "metadata": {"name": name, "namespace": self.world.namespace},
            "spec": {"url": self.world.url(), "interval": "1s", "timeout": "10s", **spec},
        }

    def inventory(self, source: str, *listed: KubeObject) -> KubeObject:
        """Build an inventory of A's namespace that lists objects of others."""
        entries = {}
        for obj in listed:
            ref = ObjectRef.of(obj)
            key = "/".join((ref.kind.group, ref.kind.kind, ref.namespace, ref.name))
            uid = obj["metadata"].get("uid", "")
            entries[key] = {"version": ref.kind.version, "stage": "OBJECTS", "uid": uid}
        return {
            "apiVersion": SOURCE_INVENTORY_KIND.api_version,
            "kind": SOURCE_INVENTORY_KIND.kind,
            "metadata": {
                "name": f"{source}-7",
                "namespace": self.world.namespace,
                "labels": {"gitops.kro.run/source-name": source},
            },
            "entries": entries,
        }

    async def _grant(self, namespace: str) -> None:
        """Create the account of a tenant, which may do everything in its namespace."""
        await self.world.create(service_account(namespace))
        rules = [rule("", ["configmaps", "secrets"]), rule(self.world.group, ["*"])]
        subject = {"kind": "ServiceAccount", "name": DEPLOYER, "namespace": namespace}
        await self._bind(DEPLOYER, namespace, rules, subject)

    async def _bind(
        self, name: str, namespace: str, rules: list[KubeObject], subject: KubeObject
    ) -> None:
        role = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": name}}
        await self.world.create(placed({**role, "rules": rules}, namespace))
        await self.world.create(placed(role_binding(name, "Role", subject), namespace))


KINDS = ("Spread", "Bind", "BindIn", "Peek", "PeekAll", "Nest", "NestFar")


def definitions(world: SourceWorld) -> list[KubeObject]:
    """Build the definitions of the platform: each lets an instance reach too far, if it may."""
    api = f"{world.group}/v1alpha1"
    place = {"place": "string"}
    subject = {"kind": "ServiceAccount", "name": DEPLOYER, "namespace": world.namespace}
    spread = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": NAME, "namespace": "${schema.spec.place}"},
        "data": {"taken": "yes"},
    }
    wide = role_binding("cluster-admin", "ClusterRole", subject)
    bind = {**wide, "kind": "ClusterRoleBinding", "metadata": {"name": NAME}}
    bind_in = {**wide, "metadata": {"name": NAME, "namespace": "${schema.spec.place}"}}
    login = {"apiVersion": "v1", "kind": "Secret"}
    one = {**login, "metadata": {"name": LOGIN, "namespace": "${schema.spec.place}"}}
    every = {**login, "metadata": {"selector": {"matchLabels": {"app": LOGIN}}}}
    copy = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME}}
    nested = {"apiVersion": api, "kind": "Spread", "spec": {"place": "${schema.spec.place}"}}
    return [
        world.definition("Spread", place, resources=[template("map", spread)]),
        world.definition("Bind", {}, resources=[template("bind", bind)]),
        world.definition("BindIn", place, resources=[template("bind", bind_in)]),
        world.definition(
            "Peek",
            place,
            status={"seen": "${string(login.data.token)}"},
            resources=[
                {"id": "login", "externalRef": one},
                template("copy", {**copy, "data": {"token": "${string(login.data.token)}"}}),
            ],
        ),
        world.definition(
            "PeekAll",
            {},
            resources=[
                {"id": "logins", "externalRef": every},
                template(
                    "copy",
                    {
                        **copy,
                        "data": {"tokens": "${logins.map(l, string(l.data.token)).join(',')}"},
                    },
                ),
            ],
        ),
        world.definition(
            "Nest", place, resources=[template("inner", {**nested, "metadata": {"name": NAME}})]
        ),
        world.definition(
            "NestFar",
            place,
            resources=[
                template(
                    "inner",
                    {**nested, "metadata": {"name": NAME, "namespace": "${schema.spec.place}"}},
                )
            ],
        ),
        world.definition("Wide", place, scope="Cluster", resources=[template("map", spread)]),
    ]


def template(id_: str, body: KubeObject) -> KubeObject:
    """Build a resource of a definition."""
    return {"id": id_, "template": body}


def placed(obj: KubeObject, namespace: str) -> KubeObject:
    """Return an object in a namespace."""
    return {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}


def rule(group: str, resources: list[str]) -> KubeObject:
    """Build a rule of a Role: every verb."""
    return {"apiGroups": [group], "resources": resources, "verbs": ["*"]}


async def _create(obj: KubeObject, cluster: Cluster) -> None:
    await cluster.create(obj)


def _whole(obj: KubeObject) -> KubeObject:
    return obj


def role_binding(role: str, kind: str, subject: KubeObject) -> KubeObject:
    """Build a RoleBinding named like its role."""
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": role},
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
        "subjects": [subject],
    }


def service_account(namespace: str) -> KubeObject:
    """Build the account that acts in a namespace."""
    metadata = {"name": DEPLOYER, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def _marks(obj: KubeObject) -> object:
    metadata = obj["metadata"]
    return metadata.get("labels"), metadata.get("annotations"), metadata.get("ownerReferences")
