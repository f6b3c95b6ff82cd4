"""
Alerts of the chart on metrics of a running controller: they fire for the source that has a problem.
"""

import asyncio
import time
import urllib.request

import yaml

from tests.e2e.following.world import SourceWorld, config_map
from tests.promql import Page, evaluate
from tools.update_deploy import CHART

ALERTS = {
    rule["alert"]: rule["expr"]
    for group in yaml.safe_load((CHART / "files" / "alerts.yaml").read_text("utf-8"))["groups"]
    for rule in group["rules"]
}


async def scrape(world: SourceWorld) -> Page:
    def read() -> str:
        with urllib.request.urlopen(f"{world.controller.at.metrics}/metrics") as answer:
            return str(answer.read(), "utf-8")

    return Page.parse(time.monotonic(), await asyncio.to_thread(read))


async def firing(world: SourceWorld, *before: Page) -> set[str]:
    """Return the alerts that fire for the source of this world, or for all."""
    pages = [*before, await scrape(world)]
    name = f"{world.namespace}/repo"
    return {
        alert
        for alert, expression in ALERTS.items()
        for labels in evaluate(expression, pages)
        if dict(labels).get("source", name) == name
    }


async def test_alerts_fire_for_what_is_wrong_with_a_source(world: SourceWorld) -> None:
    definition = world.shop()
    names = [f"m{number}" for number in range(8)]
    maps = {f"{name}.yaml": config_map(name, x="1") for name in names}
    world.commit({"rgd.yaml": definition, "front.yaml": world.front(), **maps})
    await world.follow()
    await world.ready()
    ours = {alert for alert in ALERTS if alert.startswith("KroGitopsSource")}
    ours |= {"KroGitopsDown", "KroGitopsLeaderMissing", "KroGitopsPruneLimitHeld"}
    assert not await firing(world) & ours

    world.commit(dict.fromkeys(maps))
    await world.reported("PruneBlocked")
    assert "KroGitopsPruneLimitHeld" in await firing(world)

    world.commit({**maps, "bad.yaml": "a: [\n"})
    await world.reported("Ready", "False", text="bad.yaml")
    found = await firing(world)
    assert "KroGitopsSourceNotReady" in found
    assert "KroGitopsPruneLimitHeld" not in found

    await world.respec(suspend=True)
    await world.reported("Suspended")
    assert "KroGitopsSourceHeld" in await firing(world)

    await world.respec(suspend=False, url=world.url() + "-moved")
    await world.reported("FetchFailed")
    assert "KroGitopsSourceFetchFailed" in await firing(world)


async def test_an_alert_fires_for_a_definition_that_does_not_compile(world: SourceWorld) -> None:
    await world.create(world.shop())
    await world.active(world.shop())
    before = await scrape(world)
    # A counter of one definition is there only after its first failure.
    broken = world.definition("Bad", {"a": "strng"}, resources=[], name=f"bad-{world.token}")
    await world.create(broken)
    await world.inactive(broken)
    first = await scrape(world)
    broken["spec"]["schema"]["spec"] = {"a": "integr"}
    await world.change(broken, lambda live: live.update(spec=broken["spec"]))

    async def fires() -> None:
        found = evaluate(ALERTS["KroGitopsDefinitionBroken"], [first, await scrape(world)])
        assert frozenset({("name", f"bad-{world.token}")}) in found

    await world.until(fires, 20.0)
    assert not evaluate(ALERTS["KroGitopsReconcilePanics"], [before, await scrape(world)])
