from hypothesis import given
from hypothesis import strategies as st

from kube_objects.quantity import UNIT, is_whole, nanos
from kube_sandbox.registry.builtin.pods.resource_totals import aggregated


@given(st.integers(-(10**9), 10**9))
def test_an_integer_is_worth_itself(number: int) -> None:
    assert nanos(str(number)) == number * UNIT
    assert is_whole(str(number))


def test_a_pod_needs_what_its_containers_need_at_the_worst_moment() -> None:
    def container(cpu: str, **more: str) -> dict[str, object]:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "containers": [container("500m"), container("1")],
        "initContainers": [container("200m", restartPolicy="Always"), container("3")],
    }
    assert aggregated(spec, "requests") == {"cpu": "3200m"}
    spec["initContainers"] = [container("200m", restartPolicy="Always"), container("1")]
    assert aggregated(spec, "requests") == {"cpu": "1700m"}
    assert aggregated(spec, "limits") == {}
