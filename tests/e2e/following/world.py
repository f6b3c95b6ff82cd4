"""
A world with a git repository in it: commits on one side, a cluster on the other.
"""

import secrets
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kro_gitops.kube.api import Cluster, MergePatch
from kro_gitops.metadata import REQUESTED_AT
from kro_gitops.source.api.resources import GIT_SOURCE_KIND, SOURCE_INVENTORY_KIND
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.e2e.scenarios.controllers import Controller
from tests.e2e.scenarios.world import World, condition
from tests.git_http_server import HttpServer
from tests.git_repositories import Content, GitRepository

CONFIG_MAP = Kind("", "v1", "ConfigMap")
EVERYTHING = {"namespaces": ["*"], "kinds": ["*"], "clusterScoped": True, "rgds": True}


@dataclass(slots=True)
class Git:
    """Where repositories are made, and how they are served."""

    root: Path
    server: HttpServer


class SourceWorld(World):
    """A namespace, a repository, and a controller that follows it."""

    def __init__(self, cluster: Cluster, controller: Controller, git: Git) -> None:
        super().__init__(cluster, controller, target="ours", version="devel")
        self.git = git
        self.repository = self.new_repository()

    async def close(self) -> None:
        """Have no source poll on; what it made goes with it, and nobody waits for that."""
        for each in self._made:
            if each["kind"] == GIT_SOURCE_KIND.kind:
                await self.delete(each)
        await super().close()

    def new_repository(self) -> GitRepository:
        """Make one more repository."""
        return GitRepository.create(self.git.root / f"{secrets.token_hex(4)}.git")

    def url(self, repository: GitRepository | None = None) -> str:
        """Return where a repository is served."""
        return self.git.server.url((repository or self.repository).path.name)

    # What stands in git

    def shop(self, fields: Mapping[str, str] | None = None) -> KubeObject:
        """Build a definition whose instances make a ConfigMap of their spec."""
        spec = dict(fields or {"color": "string"})
        data = {name: f"${{string(schema.spec.{name})}}" for name in spec}
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "${schema.metadata.name}-settings"},
            "data": data,
        }
        resources = [{"id": "settings", "template": body}]
        return self.definition("Shop", spec, resources=resources, name=f"shop-{self.token}")

    def front(self, name: str = "front", **spec: Any) -> KubeObject:
        """Build an instance of that kind."""
        return self.instance("Shop", name, spec or {"color": "blue"})

    @property
    def token(self) -> str:
        """Return what makes our names differ from others'."""
        return self.namespace.removeprefix("test-")

    def commit(self, files: Mapping[str, object], message: str = "change", **more: Any) -> str:
        """Commit files; objects are written as YAML, None deletes a file."""
        return self.repository.commit(
            {path: _content(each) for path, each in files.items()}, message, **more
        )

    # What stands in the cluster

    def source_ref(self, name: str = "repo") -> ObjectRef:
        """Name a source of ours."""
        return ObjectRef(GIT_SOURCE_KIND, self.namespace, name)

    async def follow(
        self, name: str = "repo", *, url: str = "", closed: bool = False, **spec: Any
    ) -> KubeObject:
        """Make a source; it may do everything unless it is to be closed."""
        given = {"url": url or self.url(), "interval": "1s", "timeout": "10s", **spec}
        if not closed:
            given.setdefault("allow", EVERYTHING)
        return await self.create(
            {
                "apiVersion": GIT_SOURCE_KIND.api_version,
                "kind": GIT_SOURCE_KIND.kind,
                "metadata": {"name": name, "namespace": self.namespace},
                "spec": given,
            }
        )

    async def secret(self, name: str, **data: str | bytes) -> None:
        """Make a Secret in our namespace; an underscore in a key stands for a dot or is one."""
        encoded = {
            key: b64encode(each if isinstance(each, bytes) else each.encode()).decode()
            for key, each in data.items()
        }
        metadata = {"name": name, "namespace": self.namespace}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded}
        await self.create(body)

    async def respec(self, name: str = "repo", **spec: Any) -> None:
        """Change fields of a source's spec."""
        await self.cluster.patch(self.source_ref(name), MergePatch({"spec": spec}))

    async def poke(self, name: str = "repo") -> None:
        """Have a source polled at once."""
        wish = {"metadata": {"annotations": {REQUESTED_AT: secrets.token_hex(8)}}}
        await self.cluster.patch(self.source_ref(name), MergePatch(wish))

    async def ready(self, commit: str = "", name: str = "repo", within: float = 30.0) -> KubeObject:
        """Return a source when it is ready, at a commit if one is named."""
        return await self.reported("Ready", "True", commit=commit, name=name, within=within)

    async def reported(
        self,
        type_: str,
        status: str = "True",
        *,
        reason: str = "",
        text: str = "",
        commit: str = "",
        name: str = "repo",
        within: float = 30.0,
    ) -> KubeObject:
        """Return a source when a condition says this of its present spec."""

        async def check() -> KubeObject:
            found = await self.get(self.source_ref(name))
            said = condition(found, type_)
            assert said["status"] == status, found["status"]
            assert said["observedGeneration"] == found["metadata"]["generation"], said
            assert not reason or said["reason"] == reason, said
            assert text in said["message"], said
            revision = found["status"].get("lastAttemptedRevision", "")
            assert not commit or revision.endswith(commit), (revision, commit)
            return found

        return await self.until(check, within)

    async def settings(self, name: str = "front", within: float = 20.0) -> KubeObject:
        """Return the child of an instance when it is there."""
        ref = ObjectRef(CONFIG_MAP, self.namespace, f"{name}-settings")

        async def check() -> KubeObject:
            return await self.get(ref)

        return await self.until(check, within)

    async def data(self, expected: Mapping[str, str], name: str = "front") -> KubeObject:
        """Return the child of an instance when it holds this."""

        async def check() -> KubeObject:
            found = await self.get(ObjectRef(CONFIG_MAP, self.namespace, f"{name}-settings"))
            assert found.get("data") == expected, found.get("data")
            return found

        return await self.until(check, 20.0)

    async def inventory(self, name: str = "repo") -> dict[str, dict[str, str]]:
        """Return what a source has noted as its own."""
        shard = ObjectRef(SOURCE_INVENTORY_KIND, self.namespace, f"{name}-0")
        found = await self.find(shard)
        return (found or {}).get("entries") or {}


def config_map(name: str, **data: str) -> KubeObject:
    """Build a ConfigMap without a namespace."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def _content(value: object) -> Content:
    if value is None or isinstance(value, (str, bytes)):
        return value
    if isinstance(value, list):
        return yaml.safe_dump_all(value, sort_keys=False)
    return yaml.safe_dump(value, sort_keys=False)
