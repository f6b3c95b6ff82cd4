"""Refusals of the embedded API, word by word as a real API server has them."""

from collections.abc import Callable

import orjson
import pytest

from kube_sandbox.api_errors import StatusError
from kube_sandbox.apiextensions.customresourcedefinition.strategy import DefinitionStrategy
from kube_sandbox.endpoints import deletion
from kube_sandbox.endpoints.negotiation import negotiate
from kube_sandbox.endpoints.options import DeleteOptions, delete_options
from kube_sandbox.endpoints.request_info import Query
from kube_sandbox.registry.builtin.registry import strategies
from kube_sandbox.registry.builtin.services.ip_allocation import ServiceAllocations
from kube_sandbox.registry.builtin_resources import internal_type, served_builtins, storage_key
from kube_sandbox.registry.kinds import Served


@pytest.fixture(scope="module")
def served() -> Callable[[str], Served]:
    crds = "customresourcedefinitions.apiextensions.k8s.io"
    ways = {**strategies(ServiceAllocations()), crds: DefinitionStrategy()}
    found = {f"{each.kind.api_version} {each.plural}": each for each in served_builtins(ways)}
    return found.__getitem__


def refusal(do: Callable[[], object]) -> StatusError:
    with pytest.raises(StatusError) as caught:
        do()
    return caught.value


def test_a_form_that_no_route_has_is_refused_with_those_there_are() -> None:
    error = refusal(lambda: negotiate("text/html", is_custom=False))
    assert error.code == 406
    assert error.message == (
        "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
        "application/vnd.kubernetes.protobuf"
    )


def test_options_of_a_deletion_are_typed() -> None:
    body = orjson.dumps({"gracePeriodSeconds": "x"})
    error = refusal(lambda: delete_options(Query(), body))
    assert error.message == (
        "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of "
        "type int64"
    )


def test_a_body_of_another_kind_is_no_option() -> None:
    body = orjson.dumps({"kind": "Odd", "apiVersion": "v1"})
    error = refusal(lambda: delete_options(Query(), body))
    assert error.message == (
        'no kind "Odd" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"'
    )


def test_jobs_leave_their_pods_and_say_so(served: Callable[[str], Served]) -> None:
    jobs = served("batch/v1 jobs")
    assert deletion.warnings(jobs, DeleteOptions())
    assert not deletion.warnings(jobs, DeleteOptions(propagation="Background"))
    assert not deletion.warnings(served("v1 pods"), DeleteOptions())


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("v1 services", "/registry/services/specs/n/a"),
        ("networking.k8s.io/v1 ingresses", "/registry/ingress/n/a"),
        ("apps/v1 deployments", "/registry/deployments/n/a"),
        ("rbac.authorization.k8s.io/v1 clusterroles", "/registry/clusterroles/a"),
    ],
)
def test_keys_are_those_of_etcd(served: Callable[[str], Served], kind: str, key: str) -> None:
    assert storage_key(served(kind), "n", "a") == key


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("v1 configmaps", "core.ConfigMap"),
        ("batch/v1 cronjobs", "batch.CronJob"),
        ("rbac.authorization.k8s.io/v1 roles", "rbac.Role"),
        ("events.k8s.io/v1 events", "core.Event"),
    ],
)
def test_structs_are_called_as_in_go(
    served: Callable[[str], Served], kind: str, shown: str
) -> None:
    assert internal_type(served(kind)) == shown
