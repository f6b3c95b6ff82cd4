from typing import Any

import pytest

from kro_gitops.settings import values
from kro_gitops.settings.values import (
    ADDRESS,
    BOOLEAN,
    BYTES,
    COUNT,
    DURATION,
    INTEGER,
    LABEL_KEY,
    NAMESPACE,
    NATURAL,
    PATTERNS,
    POSITIVE_DURATION,
    RATE,
    VERSION,
    Values,
)


@pytest.mark.parametrize(
    ("values", "text", "value"),
    [
        (BOOLEAN, "true", True),
        (BOOLEAN, "T", True),
        (BOOLEAN, "1", True),
        (BOOLEAN, "False", False),
        (BOOLEAN, "0", False),
        (DURATION, "3s", 3),
        (DURATION, "1m30s", 90),
        (DURATION, "500ms", 0.5),
        (DURATION, "1.5h", 5400),
        (DURATION, "0", 0),
        (BYTES, "0", 0),
        (BYTES, "1500", 1500),
        (BYTES, "2Gi", 2 << 30),
        (BYTES, "1.5G", 1_500_000_000),
        (BYTES, "20k", 20_000),
        (COUNT, "1", 1),
        (NATURAL, "0", 0),
        (INTEGER, "-5", -5),
        (RATE, "0.5", 0.5),
        (NAMESPACE, "", ""),
        (NAMESPACE, "kro-system", "kro-system"),
        (LABEL_KEY, "example.com/app", "example.com/app"),
        (VERSION, "v1.0.0-rc.1", "v1.0.0-rc.1"),
        (PATTERNS, "team,*/x", ("team", "*/x")),
    ],
)
def test_what_is_allowed(values: Values, text: str, value: Any) -> None:
    assert values.parse(text) == value


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (BOOLEAN, ""),
        (BOOLEAN, "yes"),
        (DURATION, ""),
        (DURATION, "3"),
        (DURATION, "3 s"),
        (DURATION, "-3s"),
        (DURATION, "2d"),
        (POSITIVE_DURATION, "0"),
        (POSITIVE_DURATION, "0s"),
        (BYTES, ""),
        (BYTES, "-1"),
        (BYTES, "2 Gi"),
        (BYTES, "2gi"),
        (BYTES, "1e9"),
        (COUNT, "0"),
        (COUNT, "1_000"),
        (COUNT, " 1"),
        (COUNT, "٣"),
        (COUNT, "9" * 5000),
        (NATURAL, "-1"),
        (INTEGER, "1.5"),
        (RATE, "nan"),
        (RATE, "inf"),
        (RATE, "-1"),
        (RATE, "fast"),
        (NAMESPACE, "Kro"),
        (NAMESPACE, "a/b"),
        (LABEL_KEY, ""),
        (LABEL_KEY, "a b"),
        (VERSION, "0.9.4"),
        (PATTERNS, ""),
        (PATTERNS, "a,,b"),
        (PATTERNS, "a b"),
        (ADDRESS, "8078"),
    ],
)
def test_what_is_not_allowed(values: Values, text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the message is made by whoever asked
        values.parse(text)


def test_all_kinds_of_values_say_what_is_allowed() -> None:
    kinds = [each for each in vars(values).values() if isinstance(each, Values)]
    assert len(kinds) > 10
    assert all(each.allowed and each.metavar for each in kinds)
