from base64 import b64decode, b64encode
from typing import Any

from sandbox_testing.simulated_cluster import World

from kube_objects.refs import KubeObject
from kube_sandbox.controllers.token_secrets import TokenSecretController, TokenSecretDependencies

ACCOUNT: KubeObject = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
MARK = "kubernetes.io/service-account"


def secret(name: str, **data: str) -> KubeObject:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "annotations": {f"{MARK}.name": "robot"}},
        "type": f"{MARK}-token",
        "data": {key.replace("_", "."): b64encode(v.encode()).decode() for key, v in data.items()},
    }


def opened(world: World, authority: str = "ours") -> None:
    def issue(account: KubeObject, about: KubeObject) -> str:
        return f"{account['metadata']['name']} by {about['metadata']['name']}"

    around = TokenSecretDependencies(
        lambda bucket, namespace, name: world.find(bucket, name, namespace),
        lambda bucket, _: world.all(bucket),
        issue,
        authority,
    )
    TokenSecretController(world, around, lambda work: work()).open()


def texts(found: Any) -> dict[str, str]:
    return {key: b64decode(value).decode() for key, value in found["data"].items()}


def test_a_token_is_kept_and_what_is_beside_it_stays() -> None:
    world = World()
    world.add(ACCOUNT)
    world.add(secret("s", token="old", ca_crt="ours", more="x"))
    opened(world)
    found = texts(world.find("secrets", "s"))
    assert found == {"ca.crt": "ours", "more": "x", "namespace": "n", "token": "old"}


def test_a_token_of_another_server_is_made_anew() -> None:
    world = World()
    world.add(ACCOUNT)
    world.add(secret("s", token="old", ca_crt="theirs"))
    opened(world)
    found = texts(world.find("secrets", "s"))
    assert (found["token"], found["ca.crt"]) == ("robot by s", "ours")


def test_a_token_of_an_account_that_is_another_now_goes() -> None:
    world = World()
    world.add(ACCOUNT)
    former = secret("s")
    former["metadata"]["annotations"][f"{MARK}.uid"] = "former"
    world.add(former)
    world.add({**secret("kept"), "type": "Opaque"})
    opened(world)
    assert world.names("secrets") == ["kept"]
