"""The objects of a first start: as a real server stores them, and as this one would."""

from datetime import UTC, datetime

import orjson
import pytest

from kube_objects.refs import Kind, KubeObject
from kube_sandbox.apiextensions.customresourcedefinition.strategy import DefinitionStrategy
from kube_sandbox.bootstrap import bootstrap_objects, complete_bootstrap_object
from kube_sandbox.controllers.crd import BUCKET as DEFINITIONS
from kube_sandbox.endpoints.decoding import BodyDecoder
from kube_sandbox.registry.builtin.registry import strategies
from kube_sandbox.registry.builtin_resources import served_builtins
from kube_sandbox.registry.kinds import Registry
from kube_sandbox.registry.strategy import RequestContext

UID, TIME = "6f1a4f0e-8d0c-4f5e-9d43-0c9a5d9a2b11", "2026-01-02T03:04:05Z"
KINDS = sorted({each["kind"] for each in bootstrap_objects(1)})


@pytest.fixture(scope="module")
def registry() -> Registry:
    found = Registry()
    for served in served_builtins({**strategies(), DEFINITIONS: DefinitionStrategy()}):
        found.add(served)
    return found


def made(kind: str) -> list[KubeObject]:
    found = [each for each in bootstrap_objects(6443) if each["kind"] == kind]
    for each in found:
        complete_bootstrap_object(each, UID, TIME)
        each["metadata"]["resourceVersion"] = "1"
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_they_have_the_form_in_which_this_server_stores(registry: Registry, kind: str) -> None:
    for obj in made(kind):
        served = registry.of_kind(Kind.of(obj["apiVersion"], kind))
        assert served is not None
        sent = orjson.dumps(obj)
        read, mistakes = BodyDecoder().read(served, sent, "application/json", "Strict")
        assert (read, mistakes) == (obj, [])
        again: KubeObject = orjson.loads(sent)
        occasion = RequestContext(datetime(2026, 1, 2, tzinfo=UTC))
        served.strategy.prepare_update(again, obj, "", occasion)
        assert again == obj
        assert served.strategy.validate_update(again, obj, "", occasion) == []


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_left_blank(kind: str) -> None:
    for obj in made(kind):
        metadata = obj["metadata"]
        assert (metadata["uid"], metadata["creationTimestamp"]) == (UID, TIME)
        assert [each["time"] for each in metadata["managedFields"]].count(TIME) >= 1
        assert b'Time":""' not in orjson.dumps(obj)
        assert b'"time":""' not in orjson.dumps(obj)


def test_the_service_leads_to_the_server() -> None:
    (service,) = made("Service")
    assert service["spec"]["ports"][0]["targetPort"] == 6443
