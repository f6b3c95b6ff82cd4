"""kubectl's JSONPath; what columns show of it is in tables/test_render.py."""

from typing import Any

import pytest

from kube_sandbox.tables.json_path import BadPathError, JSONPath, as_text

OBJECT: dict[str, Any] = {
    "a": {"b": [1, 2, 3], "c.d": "dotted", "e": None},
    "list": [{"n": "x", "v": 1}, {"n": "y", "v": 2}, {"n": "z"}],
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".a.b", [[1, 2, 3]]),
        ("$.a.b[0]", [1]),
        (".a.b[-1]", [3]),
        (".a.b[*]", [1, 2, 3]),
        (".a.b[1:]", [2, 3]),
        (".a.b[0:3:2]", [1, 3]),
        (".a.b[9]", []),
        (".a.b[1:1]", []),
        (".a.b[0,2]", [1, 3]),
        (".a['c\\.d']", ["dotted"]),
        (".a.c\\.d", ["dotted"]),
        (".a.e", [None]),
        (".a.e.f", []),
        (".nope.x", []),
        (".list[*].n", ["x", "y", "z"]),
        ('.list[?(@.n=="y")].v', [2]),
        (".list[?(@.n=='y')].v", [2]),
        (".list[?(@.v)].n", ["x", "y"]),
        (".list[?(@.v>=2)].n", ["y"]),
        (".list[?(@.v!=1)].n", ["y"]),
        # A number is never equal to a text: the whole path finds nothing.
        ('.list[?(@.v=="1")].n', []),
        (".a[0]", []),
        (".a.b[?(@.x)]", []),
        ("..n", ["x", "y", "z"]),
        (".*", [OBJECT["a"], OBJECT["list"]]),
    ],
)
def test_paths_lead_where_kubectl_has_them(path: str, expected: list[Any]) -> None:
    assert JSONPath(path).find(OBJECT) == expected


@pytest.mark.parametrize("path", [".a[", ".a[x]", "....a", ".a[?(@.b", "'a", "&", ".a[-]", "1.2.3"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(BadPathError):
        JSONPath(path)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a", "a"),
        (1, "1"),
        (1.5, "1.5"),
        (1e20, "1e+20"),
        (1234567.25, "1.23456725e+06"),
        (0.00001, "1e-05"),
        (True, "true"),
        (None, "<no value>"),
        ({"b": "<", "a": 1}, '{"a":1,"b":"\\u003c"}'),
    ],
)
def test_values_are_printed_as_go_prints_them(value: Any, expected: str) -> None:
    assert as_text(value) == expected
