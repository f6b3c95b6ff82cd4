"""
Whatever YAML the guides show, a real API server takes it.

Objects are sent as a rehearsal, with unknown fields refused, into a namespace of the test's own:
those that the guides name are not there.
"""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from kro_gitops.errors import NotServed
from kro_gitops.kube.api import Cluster, Selection, WriteOptions
from kro_gitops.kube.responses import ApiError, NotFound
from kro_gitops.objects.refs import KubeObject
from kro_gitops.source.api import GIT_SOURCE_KIND
from kro_gitops.source.crds import source_crds
from kro_gitops.source.spec_reading import Defaults, read_spec

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = sorted((DOCS / "guides").glob("*.md"))
CLUSTER_SCOPED = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ClusterRole")
MINE = ("multi-tenancy", "notifications", "private-repositories", "repository-layout")
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
    built_in = [each for each in manifests(page) if not each["apiVersion"].startswith("kro.run/")]
    refused = [await refusal(served, placed(each, namespace)) for each in built_in]
    assert [each for each in refused if each] == []


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_sources_of_guides_can_be_followed(page: Path) -> None:
    for source in manifests(page):
        if source["kind"] == GIT_SOURCE_KIND.kind:
            assert read_spec(source, Defaults()).url


@pytest.mark.parametrize("name", [*MINE, "quick-start-cluster"])
def test_these_guides_show_sources(name: str) -> None:
    kinds = [each["kind"] for each in manifests(DOCS / "guides" / f"{name}.md")]
    assert GIT_SOURCE_KIND.kind in kinds


TENANT: dict[str, Any] = {
    "url": "https://git.example.com/team/x.git",
    "serviceAccountName": "deployer",
}


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        pytest.param({}, "", id="a modest source"),
        pytest.param({"allow": {"instancesOf": ["WebApp.kro.run"]}}, "", id="some kinds"),
        pytest.param({"allow": {"namespaces": ["*"]}}, "spec.allow", id="other namespaces"),
        pytest.param({"allow": {"clusterScoped": True}}, "spec.allow", id="cluster scope"),
        pytest.param({"allow": {"rgds": True}}, "spec.allow", id="definitions"),
        pytest.param({"serviceAccountName": "root"}, "must be deployer", id="another account"),
        pytest.param({"adopt": True}, "spec.adopt", id="objects of others"),
        pytest.param({"url": "https://evil.example/x.git"}, "spec.url", id="another host"),
    ],
)
async def test_the_policy_keeps_tenants_from_opening_their_allow_list(
    served: Cluster, tenants: str, spec: dict[str, Any], text: str
) -> None:
    source: KubeObject = {
        "apiVersion": GIT_SOURCE_KIND.api_version,
        "kind": GIT_SOURCE_KIND.kind,
        "metadata": {"name": "x", "namespace": tenants},
        "spec": {**TENANT, **spec},
    }
    refused = await refusal(served, source)
    assert text in refused
    assert bool(refused) is bool(text)
