"""Who serves a group: of this server itself nobody need be asked."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kube_sandbox.registry.builtin.registry import strategies
from kube_sandbox.registry.strategy import RequestContext

if TYPE_CHECKING:
    from kube_objects.refs import KubeObject

NOW = datetime(2026, 3, 1, tzinfo=UTC)
WAYS = strategies()["apiservices.apiregistration.k8s.io"]


def test_the_core_group_has_an_odd_name_and_is_there_at_once() -> None:
    service = {
        "metadata": {"name": "v1."},
        "spec": {"version": "v1", "groupPriorityMinimum": 18000, "versionPriority": 1},
    }
    WAYS.prepare_create(service, RequestContext(NOW))
    assert WAYS.validate_create(service, RequestContext(NOW)) == []
    assert service["status"] == {
        "conditions": [
            {
                "type": "Available",
                "status": "True",
                "lastTransitionTime": "2026-03-01T00:00:00Z",
                "reason": "Local",
                "message": "Local APIServices are always available",
            }
        ]
    }


def test_a_group_that_another_serves_is_not() -> None:
    spec = {"group": "x.y", "version": "v1", "service": {"namespace": "a", "name": "b"}}
    service: KubeObject = {"metadata": {"name": "v1.x.y"}, "spec": spec}
    WAYS.prepare_create(service, RequestContext(NOW))
    assert "conditions" not in service.get("status", {})
