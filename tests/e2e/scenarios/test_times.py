"""Points in time, from an object into a status."""

from tests.e2e.scenarios.parts import becomes, exists, node, serve
from tests.e2e.scenarios.world import World


async def test_a_time_is_shown_as_kubernetes_writes_it(world: World) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "${schema.metadata.name}"},
        "stringData": {"key": "value"},
    }
    definition = world.definition(
        "Dated",
        status={"since": "${secret.metadata.creationTimestamp}"},
        resources=[node("secret", secret)],
    )
    instance = world.instance("Dated", "dated")
    await serve(world, definition, instance)
    await world.in_state(instance, "ACTIVE", within=20)
    made = await exists(world, world.ref("v1", "Secret", "dated"))
    since = made["metadata"]["creationTimestamp"]
    assert since.endswith("Z")
    await becomes(world, instance, "status.since", since)
