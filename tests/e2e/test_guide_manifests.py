"""
Whatever YAML the guides about sources show, a real API server takes it.

Objects are sent as a rehearsal, with unknown fields refused, into a namespace of the test's own:
those that the guides name are not there.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kro_gitops.errors import NotServed
from kro_gitops.kube.api import Cluster, MergePatch, Selection, WriteOptions
from kro_gitops.kube.responses import ApiError, NotFound
from kro_gitops.source.api.crd import source_crds
from kro_gitops.source.api.parse import Defaults, read_spec
from kro_gitops.source.api.resources import GIT_SOURCE_KIND
from kube_objects.refs import Kind, KubeObject, ObjectRef

DOCS = Path(__file__).parents[2] / "docs"
CLUSTER_SCOPED = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ClusterRole")
ABOUT_SOURCES = (
    *("multi-tenancy", "notifications", "private-repositories", "repository-layout"),
    *("quick-start-cluster", "webhooks"),
)
GUIDES = [DOCS / "guides" / f"{name}.md" for name in ABOUT_SOURCES]
_YAML = re.compile(r"^```yaml\n(.*?)^```", re.DOTALL | re.MULTILINE)

pytestmark = pytest.mark.timeout(120)


def manifests(page: Path) -> list[KubeObject]:
    """Return the whole objects that a page shows; parts of objects have no kind."""
    texts = _YAML.findall(page.read_text(encoding="utf-8"))
    documents = [each for text in texts for each in yaml.safe_load_all(text)]
    return [each for each in documents if isinstance(each, dict) and "kind" in each]


def placed(obj: KubeObject, namespace: str) -> KubeObject:
    """Put an object into a namespace, if it goes into one."""
    if obj["kind"] in CLUSTER_SCOPED:
        return obj
    return {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}


@pytest.fixture
async def served(cluster: Cluster) -> Cluster:
    """Give a client of a cluster that serves sources."""
    for crd in source_crds():
        await cluster.apply(crd, WriteOptions(manager="kro-gitops", force=True))
    async with asyncio.timeout(30.0):
        while not await _is_served(cluster):  # noqa: ASYNC110 - nobody tells when
            await asyncio.sleep(0.05)
    return cluster


async def _is_served(cluster: Cluster) -> bool:
    try:
        await cluster.list(Selection(GIT_SOURCE_KIND))
    except (NotServed, NotFound):  # discovery lags behind
        return False
    return True


async def refusal(cluster: Cluster, obj: KubeObject) -> str:
    """Rehearse to create an object; return why that fails, if it does."""
    try:
        await cluster.create(obj, WriteOptions(dry_run=True, strict=True))
    except (ApiError, NotServed) as error:
        return f"{obj['kind']} {obj['metadata']['name']}: {error.message}"
    return ""


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
async def test_manifests_of_guides_are_accepted(
    served: Cluster, namespace: str, page: Path
) -> None:
    refused = [await refusal(served, placed(each, namespace)) for each in manifests(page)]
    assert [each for each in refused if each] == []


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_sources_of_guides_can_be_followed(page: Path) -> None:
    sources = [each for each in manifests(page) if each["kind"] == GIT_SOURCE_KIND.kind]
    assert sources
    for source in sources:
        assert read_spec(source, Defaults()).url


TENANT: dict[str, Any] = {
    "url": "https://git.example.com/team/x.git",
    "serviceAccountName": "deployer",
}


def tenant_source(namespace: str, **spec: Any) -> KubeObject:
    return {
        "apiVersion": GIT_SOURCE_KIND.api_version,
        "kind": GIT_SOURCE_KIND.kind,
        "metadata": {"name": "x", "namespace": namespace},
        "spec": {**TENANT, **spec},
    }


@pytest.fixture
async def tenants(served: Cluster, namespace: str) -> AsyncIterator[str]:
    """Give a tenant's namespace, and install the guide's policy for it alone."""
    policy, binding = (
        each
        for each in manifests(DOCS / "guides" / "multi-tenancy.md")
        if each["kind"].startswith("ValidatingAdmissionPolicy")
    )
    policy["metadata"]["name"] = binding["metadata"]["name"] = namespace
    binding["spec"]["policyName"] = namespace
    labels = binding["spec"]["matchResources"]["namespaceSelector"]["matchLabels"]
    labels["example.com/tenant"] = namespace  # other tests have tenants, too
    place = ObjectRef(Kind("", "v1", "Namespace"), "", namespace)
    await served.patch(place, MergePatch({"metadata": {"labels": labels}}))
    for each in (policy, binding):
        await served.create(each)
    async with asyncio.timeout(60.0):
        open_source = tenant_source(namespace, adopt=True)
        while not await refusal(served, open_source):  # noqa: ASYNC110 - nobody tells when
            await asyncio.sleep(0.2)
    yield namespace
    for each in (binding, policy):
        await served.delete(ObjectRef.of(each))


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a modest source": ({}, ""),
    "some kinds": ({"allow": {"instancesOf": ["WebApp.kro.run"]}}, ""),
    "other namespaces": ({"allow": {"namespaces": ["*"]}}, "spec.allow"),
    "cluster scope": ({"allow": {"clusterScoped": True}}, "spec.allow"),
    "definitions": ({"allow": {"rgds": True}}, "spec.allow"),
    "another account": ({"serviceAccountName": "root"}, "must be deployer"),
    "objects of others": ({"adopt": True}, "spec.adopt"),
    "another host": ({"url": "https://evil.example/x.git"}, "spec.url"),
}


async def test_the_policy_keeps_tenants_from_opening_their_allow_list(
    served: Cluster, tenants: str
) -> None:
    wrong = {}
    for name, (spec, text) in REFUSED.items():
        refused = await refusal(served, tenant_source(tenants, **spec))
        if text not in refused or bool(refused) is not bool(text):
            wrong[name] = refused or "accepted"
    assert wrong == {}
