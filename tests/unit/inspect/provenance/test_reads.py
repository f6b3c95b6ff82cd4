import pytest

from kro_gitops.inspect.provenance.reads import reads, scanned
from kube_objects.problems import Path

KNOWN = frozenset(("schema", "deployment", "queue"))


def paths(text: str) -> list[Path]:
    template = scanned(text)
    assert template is not None
    return [each.path for each in reads(template, KNOWN)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${schema.spec.replicas}", [("schema", "spec", "replicas")]),
        ("${schema.spec.?env}", [("schema", "spec", "env")]),
        ("${schema.spec.?env.orValue({})}", [("schema", "spec", "env")]),
        ('${schema.metadata.labels["a.b/c"]}', [("schema", "metadata", "labels", "a.b/c")]),
        ("${schema.spec.list[0].name}", [("schema", "spec", "list", 0, "name")]),
        ("${schema.spec.list[?0].?name}", [("schema", "spec", "list", 0, "name")]),
        ("${has(schema.spec.x) ? 1 : 2}", [("schema", "spec", "x")]),
        ("${schema.spec.a + schema.spec.a}", [("schema", "spec", "a")]),
        ("a ${schema.spec.a} b ${queue}", [("schema", "spec", "a"), ("queue",)]),
        ("${schema.spec.l.map(q, q.name + schema.spec.s)}", None),
        ("${schema.spec.l.map(queue, queue.name)}", [("schema", "spec", "l")]),
        ("${schema.spec.l[deployment.spec.n]}", None),
        ("${other.spec.x}", []),
        ("${'text'}", []),
        ("${schema.spec.(}", []),
    ],
)
def test_what_an_expression_reads(text: str, expected: list[Path] | None) -> None:
    found = paths(text)
    if expected is None:
        assert ("schema", "spec", "l") in found
        assert len(found) == 2
    else:
        assert found == expected


def test_where_it_says_so() -> None:
    text = "level=${schema.spec.level}, ${queue}"
    template = scanned(text)
    assert template is not None
    shown = [text[each.start : each.end] for each in reads(template, KNOWN)]
    assert shown == ["schema.spec.level", "queue"]


@pytest.mark.parametrize(
    ("text", "is_whole"),
    [
        ("${schema.spec.a}", True),
        ("${schema.spec.?a.orValue({})}", True),
        ("x${schema.spec.a}", False),
        ("${schema.spec.a.size()}", False),
    ],
)
def test_whether_the_value_is_that_of_the_field(text: str, is_whole: bool) -> None:
    template = scanned(text)
    assert template is not None
    (found,) = reads(template, KNOWN)
    assert found.is_whole is is_whole


@pytest.mark.parametrize("value", ["plain", "", 3, None, {}, "${", "${a ${b} }"])
def test_what_holds_no_expression(value: object) -> None:
    assert scanned(value) is None
