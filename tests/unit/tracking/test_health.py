from typing import Any

import pytest

from kro_gitops.tracking.health import (
    DEFINITION_RULES,
    INSTANCE_RULES,
    Health,
    HealthStatus,
    Match,
    Rule,
    health,
)


def condition(type_: str, status: str, message: str = "", **more: Any) -> dict[str, Any]:
    return {"type": type_, "status": status, "message": message, "observedGeneration": 2, **more}


def ready(status: str, message: str = "", generation: int = 2) -> dict[str, Any]:
    return condition("Ready", status, message, observedGeneration=generation)


def instance(*conditions: dict[str, Any], state: str = "", **metadata: Any) -> dict[str, Any]:
    status: dict[str, Any] = {"state": state} if state else {}
    if conditions:
        status["conditions"] = list(conditions)
    about = {"name": "corner", "generation": 2, **metadata}
    return {"apiVersion": "kro.run/v1", "kind": "Shop", "metadata": about, "status": status}


def definition(*conditions: dict[str, Any], state: str = "", **metadata: Any) -> dict[str, Any]:
    found = instance(*conditions, state=state, **metadata)
    return {**found, "apiVersion": "kro.run/v1alpha1", "kind": "ResourceGraphDefinition"}


def progressing(message: str) -> HealthStatus:
    return HealthStatus(Health.PROGRESSING, message)


def degraded(message: str) -> HealthStatus:
    return HealthStatus(Health.DEGRADED, message)


SUSPENDED = HealthStatus(
    Health.SUSPENDED, "reconciliation suspended via kro.run/reconcile annotation"
)


@pytest.mark.parametrize(
    ("obj", "verdict"),
    [
        pytest.param(
            instance(
                ready("True"), deletionTimestamp="2026-03-01T09:00:00Z", finalizers=["kro.run/f"]
            ),
            progressing("waiting on finalizers: kro.run/f"),
            id="being deleted",
        ),
        pytest.param(
            instance(deletionTimestamp="2026-03-01T09:00:00Z"),
            progressing("waiting to be removed"),
            id="being deleted, nothing holds it",
        ),
        pytest.param(instance(), progressing("not picked up yet"), id="empty status"),
        pytest.param(
            {"apiVersion": "x/v1", "kind": "Y", "metadata": {"name": "n"}},
            progressing("not picked up yet"),
            id="no status",
        ),
        *(
            pytest.param(
                instance(
                    ready("False", "old"), state="ERROR", annotations={"kro.run/reconcile": value}
                ),
                SUSPENDED,
                id=f"annotated {value}",
            )
            for value in ("suspended", "disabled", "Suspended")
        ),
        pytest.param(
            instance(
                condition("ResourcesReady", "False", "paused", reason="ReconciliationSuspended"),
                ready("False", "paused"),
                state="ACTIVE",
            ),
            HealthStatus(Health.SUSPENDED, "paused"),
            id="reported as suspended",
        ),
        pytest.param(
            instance(ready("True"), annotations={"kro.run/reconcile": "enabled"}),
            HealthStatus(Health.HEALTHY, ""),
            id="annotated otherwise",
        ),
        pytest.param(
            {
                **instance(ready("True")),
                "status": {"observedGeneration": 1, "conditions": [ready("True")]},
            },
            progressing("spec change not processed"),
            id="stale status",
        ),
        pytest.param(
            instance(ready("True", generation=1), state="ACTIVE"),
            progressing("spec change not processed"),
            id="stale Ready",
        ),
        pytest.param(
            instance(ready("False", "bad", generation=1), state="ERROR"),
            progressing("spec change not processed"),
            id="an error of the generation before",
        ),
        pytest.param(
            instance(ready("True", "fine"), state="ACTIVE"),
            HealthStatus(Health.HEALTHY, "fine"),
            id="Ready",
        ),
        pytest.param(
            instance(
                condition("GraphResolved", "True"),
                condition("ResourcesReady", "False", "no pods"),
                ready("False", "no pods, says Ready"),
                state="ERROR",
            ),
            degraded("no pods"),
            id="an error",
        ),
        pytest.param(
            instance(condition("Stalled", "True"), ready("False", "stuck"), state="IN_PROGRESS"),
            degraded("stuck"),
            id="stalled",
        ),
        pytest.param(
            instance(ready("False", "waiting"), state="IN_PROGRESS"),
            progressing("waiting"),
            id="not ready yet",
        ),
        pytest.param(
            instance(ready("Unknown", "who knows"), state="ACTIVE"),
            progressing("who knows"),
            id="Ready is unknown",
        ),
        pytest.param(
            instance(condition("Mine", "False", "odd"), state="ACTIVE"),
            HealthStatus(Health.HEALTHY, "active"),
            id="no Ready, active",
        ),
        pytest.param(
            instance(condition("Mine", "False", "odd"), state="FAILED"),
            degraded("odd"),
            id="no Ready, failed",
        ),
        pytest.param(instance(state="ERROR"), degraded("ERROR"), id="nothing but an error"),
        pytest.param(
            instance(state="IN_PROGRESS"), progressing("in_progress"), id="no Ready, in progress"
        ),
        pytest.param(
            instance(condition("Mine", "True")), progressing("no state yet"), id="no state"
        ),
    ],
)
def test_health_of_instances(obj: dict[str, Any], verdict: HealthStatus) -> None:
    assert health(obj) == verdict


@pytest.mark.parametrize(
    ("obj", "verdict"),
    [
        pytest.param(definition(), progressing("not picked up yet"), id="no status"),
        pytest.param(
            definition(ready("True"), deletionTimestamp="2026-03-01T09:00:00Z"),
            progressing("waiting to be removed"),
            id="being deleted",
        ),
        pytest.param(
            definition(ready("True", "fine"), state="Active"),
            HealthStatus(Health.HEALTHY, "fine"),
            id="Ready",
        ),
        pytest.param(
            definition(
                condition("GraphAccepted", "False", "cycle"),
                ready("True", generation=1),
                state="Inactive",
            ),
            degraded("cycle"),
            id="a change that was rejected",
        ),
        pytest.param(
            definition(condition("KindReady", "False", "breaking"), ready("True")),
            degraded("breaking"),
            id="a kind that cannot be served",
        ),
        pytest.param(
            definition(
                condition("GraphAccepted", "False", "cycle", observedGeneration=1),
                ready("False", "cycle", generation=1),
                state="Inactive",
            ),
            progressing("spec change not processed"),
            id="a rejection of the generation before",
        ),
        pytest.param(
            definition(ready("Unknown", "compiling"), state="Inactive"),
            progressing("compiling"),
            id="compiling",
        ),
        pytest.param(definition(ready("False", "bad")), degraded("bad"), id="not Ready"),
        pytest.param(
            definition(state="Active"),
            HealthStatus(Health.HEALTHY, "active"),
            id="no Ready, active",
        ),
        pytest.param(definition(state="Inactive"), degraded("inactive"), id="no Ready, inactive"),
        pytest.param(
            definition(condition("Other", "True")), progressing("no state yet"), id="no state"
        ),
    ],
)
def test_health_of_definitions(obj: dict[str, Any], verdict: HealthStatus) -> None:
    assert health(obj) == verdict


@pytest.mark.parametrize("rules", [INSTANCE_RULES, DEFINITION_RULES], ids=["instance", "rgd"])
def test_the_last_row_of_a_table_always_fits(rules: tuple[Rule, ...]) -> None:
    assert rules[-1].when is Match.ALWAYS
    assert len({rule.when for rule in rules}) == len(rules)


def test_a_kind_of_that_name_in_another_group_is_an_instance() -> None:
    obj = {**definition(state="Inactive"), "apiVersion": "example.com/v1"}
    assert health(obj).health is Health.PROGRESSING
