"""
The table was printed by sigs.k8s.io/yaml v1.6.0, which kubectl 1.35 reads manifests with, and
Kubernetes' own JSON decoder behind it.
"""

from typing import Any

import pytest

from kube_objects.yaml_scalars import NotFiniteError, resolve, resolve_as

AS_KUBERNETES_READS: list[tuple[str, Any]] = [
    ("22:22", "22:22"),
    ("2024-01-01", "2024-01-01"),
    ("2024-1-1", "2024-1-1"),
    ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
    ("2001-12-14 21:59:43.10 -5", "2001-12-14 21:59:43.10 -5"),
    ("1e3", 1000),
    ("1E3", 1000),
    ("1e+3", 1000),
    ("1e-3", 0.001),
    ("0o14", 12),
    ("0O14", 12),
    ("014", 12),
    ("08", 8),
    ("09.5", 9.5),
    ("0x1F", 31),
    ("0X1f", 31),
    ("0xZZ", "0xZZ"),
    ("0x", "0x"),
    ("+0x1F", 31),
    ("-0x1F", -31),
    ("0b1", 1),
    ("0B1", 1),
    ("0b2", "0b2"),
    ("-0b11", -3),
    ("+0b11", 3),
    ("0b", "0b"),
    ("1_000", 1000),
    ("1__0", 10),
    ("_1", "_1"),
    ("1_", 1),
    ("0x_1F", 31),
    ("0x1_F", 31),
    ("1_0.5", 10.5),
    (".5", 0.5),
    (".5_0", 0.5),
    (".", "."),
    ("..", ".."),
    (".5e3", 500),
    (".e3", ".e3"),
    ("5.", 5),
    ("+1", 1),
    ("-1", -1),
    ("+", "+"),
    ("-0", 0),
    ("-0.0", 0),
    ("0", 0),
    ("00", 0),
    ("1.0", 1),
    ("1.5", 1.5),
    ("1.50", 1.5),
    ("100.0", 100),
    ("12e03", 12000),
    ("1e", "1e"),
    ("1e400", "1e400"),
    ("-1e400", "-1e400"),
    ("1e-400", 0),
    ("1e20", 1e20),
    ("1e21", 1e21),
    ("1e22", 1e22),
    ("123456789012345678", 123456789012345678),
    ("9223372036854775807", 9223372036854775807),
    ("9223372036854775808", 9.223372036854776e18),
    ("-9223372036854775808", -9223372036854775808),
    ("-9223372036854775809", -9.223372036854776e18),
    ("18446744073709551615", 1.8446744073709552e19),
    ("18446744073709551616", 1.8446744073709552e19),
    ("123456789012345678901234567890", 1.2345678901234568e29),
    ("0x7fffffffffffffff", 9223372036854775807),
    ("0xffffffffffffffff", 1.8446744073709552e19),
    ("0x1ffffffffffffffff", "0x1ffffffffffffffff"),
    ("0777777777777777777777", 9223372036854775807),
    ("0.1", 0.1),
    ("0.1e-6", 1e-07),
    ("1e-7", 1e-07),
    ("3.14159265358979323846", 3.141592653589793),
    ("~", None),
    ("null", None),
    ("Null", None),
    ("NULL", None),
    ("nULL", "nULL"),
    ("NO", False),
    ("No", False),
    ("no", False),
    ("nO", "nO"),
    ("n", False),
    ("N", False),
    ("y", True),
    ("Y", True),
    ("yes", True),
    ("Yes", True),
    ("YES", True),
    ("yEs", "yEs"),
    ("on", True),
    ("On", True),
    ("ON", True),
    ("oN", "oN"),
    ("off", False),
    ("Off", False),
    ("OFF", False),
    ("true", True),
    ("True", True),
    ("TRUE", True),
    ("tRUE", "tRUE"),
    ("false", False),
    ("False", False),
    ("FALSE", False),
    (".iNF", ".iNF"),
    ("+.nan", "+.nan"),
    ("inf", "inf"),
    ("nan", "nan"),
    ("Infinity", "Infinity"),
    ("NaN", "NaN"),
    ("-Infinity", "-Infinity"),
    ("=", "="),
    ("<<", "<<"),
    ("0x1p-2", "0x1p-2"),
    ("1:2:3", "1:2:3"),
    ("190:20:30.15", "190:20:30.15"),
    ("1,000", "1,000"),
    ("1 000", "1 000"),
    ("10Gi", "10Gi"),
    ("100m", "100m"),
    ("1.2.3", "1.2.3"),
    ("1-2", "1-2"),
    ("1e3x", "1e3x"),
    ("0o8", "0o8"),
    ("0o", "0o"),
    ("1e1_0", 10000000000),
    ("-.5", -0.5),
    ("+.5", 0.5),
    ("-.", "-."),
    ("0_8", 8),
    ("0b1_1", 3),
    ("-0o14", -12),
    ("+0o14", 12),
    ("-014", -12),
    ("-08", -8),
    ("1e+", "1e+"),
    ("0.0", 0),
    ("-1.0", -1),
    ("1e0", 1),
    ("٣", "٣"),
    ("1٣", "1٣"),
    ("${x}", "${x}"),
    ("0b-1", -1),
    ("1234567890123456789.0", 1234567890123456800),
    ("0.00000001", 1e-08),
]


@pytest.mark.parametrize(
    ("text", "meaning"), AS_KUBERNETES_READS, ids=[text for text, _ in AS_KUBERNETES_READS]
)
def test_a_plain_word_means_what_it_means_to_kubernetes(text: str, meaning: Any) -> None:
    value = resolve(text)
    assert value == meaning
    assert type(value) is type(meaning)


def test_nothing_is_null() -> None:
    assert resolve("") is None


@pytest.mark.parametrize(
    "text", [".inf", ".Inf", ".INF", "+.inf", "-.inf", "-.Inf", ".nan", ".NaN", ".NAN"]
)
def test_what_json_cannot_say_is_refused(text: str) -> None:
    with pytest.raises(NotFiniteError):
        resolve(text)


@pytest.mark.parametrize(
    ("kind", "text", "meaning"),
    [
        ("str", "1", "1"),
        ("str", "", ""),
        ("int", "12", 12),
        ("int", "0x1F", 31),
        ("float", "1", 1),
        ("float", "1.5", 1.5),
        ("bool", "yes", True),
        ("null", "", None),
        ("null", "null", None),
    ],
)
def test_a_tag_decides_what_a_word_is(kind: str, text: str, meaning: Any) -> None:
    assert resolve_as(kind, text) == meaning


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("int", "abc"),
        ("int", "1.5"),
        ("int", ""),
        ("int", "true"),
        ("float", "abc"),
        ("float", "true"),
        ("bool", "maybe"),
        ("null", "x"),
    ],
)
def test_a_word_that_is_not_what_its_tag_says_is_refused(kind: str, text: str) -> None:
    with pytest.raises(ValueError, match=text or "^$"):
        resolve_as(kind, text)
