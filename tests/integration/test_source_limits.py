"""What sources may have together, and what one reports that would have more."""

from kro_gitops.source.files.budget import Amount
from kube_objects.refs import KubeObject
from tests.integration.sources import SourceScene, config_map


async def test_a_revision_beyond_the_limit_is_reported_and_the_former_one_stays(
    sources: SourceScene,
) -> None:
    await sources.kill()
    await sources.start(budget=Amount(documents=6, size=1 << 20))
    commit = sources.commit({"a.yaml": config_map("a"), "b.yaml": config_map("b")})
    ref = await sources.follow()
    await sources.ready(ref, commit)
    sources.commit({f"{name}.yaml": config_map(name) for name in "cd"})

    async def reported() -> KubeObject:
        found = await sources.cluster.get(ref)
        conditions = {each["type"]: each for each in found["status"]["conditions"]}
        assert conditions["FetchFailed"]["reason"] == "SourcesTooLarge", conditions
        assert conditions["Ready"]["status"] == "False"
        assert "namespace town would have 4 documents" in conditions["Ready"]["message"]
        return found

    found = await sources.cluster.eventually(reported, 20.0)
    assert found["status"]["lastAppliedRevision"].endswith(commit)
    assert (await sources.config_maps()).keys() == {"a", "b"}
    smaller = sources.commit({"b.yaml": None, "d.yaml": None})
    await sources.ready(ref, smaller)
    assert (await sources.config_maps()).keys() == {"a", "c"}
