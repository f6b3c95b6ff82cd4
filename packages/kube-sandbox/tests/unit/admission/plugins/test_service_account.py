"""Which account a pod has, as a real API server gave it one."""

from typing import Any

import pytest
from sandbox_testing.gate import Gate

from kube_objects.refs import KubeObject
from kube_sandbox.api_errors import StatusError

PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
TOKEN = {
    "defaultMode": 420,
    "sources": [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {
            "configMap": {
                "name": "kube-root-ca.crt",
                "items": [{"key": "ca.crt", "path": "ca.crt"}],
            }
        },
        {
            "downwardAPI": {
                "items": [
                    {
                        "path": "namespace",
                        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                    }
                ]
            }
        },
    ],
}
MIRROR = {"kubernetes.io/config.mirror": "x"}
STRICT = {"kubernetes.io/enforce-mountable-secrets": "true"}


def account(name: str = "default", **more: Any) -> KubeObject:
    annotations = more.pop("annotations", {})
    metadata = {"name": name, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata, **more}


def pod(annotations: dict[str, str] | None = None, **spec: Any) -> KubeObject:
    containers = [{"name": "c", "image": "x"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "annotations": annotations or {}},
        "spec": {"containers": containers, **spec},
    }


def admitted(obj: KubeObject, *accounts: KubeObject) -> Any:
    Gate(*(accounts or (account(),)), accounts=True).change(obj)
    return obj["spec"]


def refusal(obj: KubeObject, *accounts: KubeObject) -> str:
    with pytest.raises(StatusError) as caught:
        admitted(obj, *accounts)
    assert (caught.value.code, caught.value.reason) == (403, "Forbidden")
    return caught.value.message


def test_a_pod_gets_the_default_account_and_its_token() -> None:
    spec = admitted(pod(initContainers=[{"name": "i", "image": "x"}]))
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    assert spec["volumes"] == [{"name": "kube-api-access-abcde", "projected": TOKEN}]
    mount = {"name": "kube-api-access-abcde", "readOnly": True, "mountPath": PATH}
    assert spec["containers"][0]["volumeMounts"] == [mount]
    assert spec["initContainers"][0]["volumeMounts"] == [mount]


def test_nobody_is_asked_where_nobody_makes_accounts() -> None:
    obj = pod()
    Gate().change(obj)
    assert "serviceAccountName" not in obj["spec"]
    assert "volumes" not in obj["spec"]


@pytest.mark.parametrize(
    ("metadata", "shown"),
    [
        pytest.param({"name": "p"}, "p", id="by its name"),
        pytest.param({"generateName": "g-"}, "g-", id="by what its name will begin with"),
        pytest.param({}, "Unknown", id="without a name"),
    ],
)
def test_an_account_must_be_there(metadata: dict[str, str], shown: str) -> None:
    obj = {**pod(serviceAccountName="nobody"), "metadata": metadata}
    assert refusal(obj) == (
        f'pods "{shown}" is forbidden: error looking up service account town/nobody: '
        'serviceaccount "nobody" not found'
    )


@pytest.mark.parametrize(
    ("of_pod", "of_account", "mounted"),
    [
        pytest.param(None, False, False, id="the account says no"),
        pytest.param(True, False, True, id="the pod says yes"),
        pytest.param(False, True, False, id="the pod says no"),
        pytest.param(None, None, True, id="nobody says"),
    ],
)
def test_a_token_can_be_declined(
    of_pod: bool | None, of_account: bool | None, mounted: bool
) -> None:
    key = "automountServiceAccountToken"
    spec: dict[str, Any] = {} if of_pod is None else {key: of_pod}
    said: dict[str, Any] = {} if of_account is None else {key: of_account}
    found = admitted(pod(**spec), account(**said))
    assert ("volumes" in found) is mounted
    assert ("volumeMounts" in found["containers"][0]) is mounted


def test_a_container_keeps_what_it_has_in_the_place_of_the_token() -> None:
    mount = {"name": "v", "mountPath": PATH}
    own = [{"name": "c", "image": "x", "volumeMounts": [mount]}]
    spec = admitted(pod(containers=own, volumes=[{"name": "v", "emptyDir": {}}]))
    assert spec["volumes"] == [{"name": "v", "emptyDir": {}}]
    assert spec["containers"][0]["volumeMounts"] == [mount]


def test_a_volume_with_such_a_name_is_taken_for_the_token() -> None:
    volumes = [{"name": "kube-api-access-mine", "emptyDir": {}}]
    spec = admitted(pod(volumes=volumes))
    assert spec["volumes"] == volumes
    assert spec["containers"][0]["volumeMounts"][0]["name"] == "kube-api-access-mine"


def test_images_are_pulled_with_the_secrets_of_the_account() -> None:
    known = account(imagePullSecrets=[{"name": "reg"}, {"name": "reg2"}])
    assert admitted(pod(), known)["imagePullSecrets"] == [{"name": "reg"}, {"name": "reg2"}]
    own = pod(imagePullSecrets=[{"name": "own"}])
    assert admitted(own, known)["imagePullSecrets"] == [{"name": "own"}]


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        pytest.param({"serviceAccountName": "default"}, "service accounts", id="account"),
        pytest.param(
            {"volumes": [{"name": "s", "secret": {"secretName": "a"}}]}, "secrets", id="secret"
        ),
        pytest.param({"imagePullSecrets": [{"name": "a"}]}, "secrets", id="secret of images"),
        pytest.param(
            {"volumes": [{"name": "s", "csi": {"nodePublishSecretRef": {"name": "a"}}}]},
            "secrets",
            id="secret of a driver",
        ),
        pytest.param(
            {"volumes": [{"name": "s", "projected": {"sources": [{"secret": {"name": "a"}}]}}]},
            "secrets",
            id="projected secret",
        ),
    ],
)
def test_a_mirror_of_a_nodes_own_pod_refers_to_nothing(spec: Any, told: str) -> None:
    message = f'pods "p" is forbidden: a mirror pod may not reference {told}'
    assert refusal(pod(MIRROR, **spec)) == message


def test_a_mirror_pod_has_no_token_and_stays_as_it_is() -> None:
    token = {"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}
    assert refusal(pod(MIRROR, volumes=[token])) == (
        'pods "p" is forbidden: a mirror pod may not use ServiceAccountToken volume projections'
    )
    assert "serviceAccountName" not in admitted(pod(MIRROR))


def env(secret: str) -> list[Any]:
    return [{"name": "E", "valueFrom": {"secretKeyRef": {"name": secret, "key": "k"}}}]


def env_from(secret: str) -> list[Any]:
    return [{"secretRef": {"name": secret}}]


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        pytest.param(
            {"volumes": [{"name": "v", "secret": {"secretName": "bad"}}]},
            'volume with secret.secretName="bad"',
            id="volume",
        ),
        pytest.param(
            {"initContainers": [{"name": "i", "env": env("bad")}]},
            'init container i with envVar E referencing secret.secretName="bad"',
            id="variable before it starts",
        ),
        pytest.param(
            {"containers": [{"name": "c", "env": env("bad")}]},
            'container c with envVar E referencing secret.secretName="bad"',
            id="variable",
        ),
        pytest.param(
            {"containers": [{"name": "c", "envFrom": env_from("bad")}]},
            'container c with envFrom referencing secret.secretName="bad"',
            id="variables",
        ),
    ],
)
def test_an_account_can_keep_other_secrets_from_its_pods(spec: Any, told: str) -> None:
    strict = account("strict", annotations=STRICT, secrets=[{"name": "ok"}])
    message = refusal(pod(serviceAccountName="strict", **spec), strict)
    assert message == (
        f'pods "p" is forbidden: {told} is not allowed because service account strict does not '
        "reference that secret"
    )


def test_an_account_can_keep_other_secrets_of_images_from_its_pods() -> None:
    strict = account(annotations=STRICT, imagePullSecrets=[{"name": "reg"}])
    assert refusal(pod(imagePullSecrets=[{"name": "reg"}, {"name": "bad"}]), strict) == (
        'pods "p" is forbidden: imagePullSecrets[1].name="bad" is not allowed because service '
        "account default does not reference that imagePullSecret"
    )
    listed = account(annotations=STRICT, secrets=[{"name": "ok"}])
    volumes = [{"name": "v", "secret": {"secretName": "ok"}}]
    assert len(admitted(pod(volumes=volumes), listed)["volumes"]) == 2


def later(**container: Any) -> KubeObject:
    return pod(serviceAccountName="a", ephemeralContainers=[{"name": "e", **container}])


def test_containers_that_come_later_are_judged_by_the_same_account() -> None:
    strict = Gate(account("a", annotations=STRICT, secrets=[{"name": "ok"}]), accounts=True)
    old, part = pod(serviceAccountName="a"), "ephemeralcontainers"
    assert strict.admit(later(env=env("ok")), old, part) == []
    with pytest.raises(StatusError) as caught:
        strict.admit(later(envFrom=env_from("bad")), old, part)
    assert (caught.value.code, caught.value.reason) == (500, "")
    assert caught.value.message == (
        'ephemeral container e with envFrom referencing secret.secretName="bad" is not allowed '
        "because service account a does not reference that secret"
    )
    with pytest.raises(StatusError, match='town/a: serviceaccount "a" not found'):
        Gate(accounts=True).admit(later(), old, part)


def test_a_pod_that_is_there_does_not_need_its_account() -> None:
    gate, old = Gate(accounts=True), pod(serviceAccountName="gone")
    new = pod(serviceAccountName="gone")
    gate.change(new, old)
    assert "volumes" not in new["spec"]
    assert gate.admit(new, old) == []
