"""Names and what is said of those that are none; each text was seen on a real API server."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_sandbox.registry import name_validation

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
KEY = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
LONG = "a" * 64


@pytest.mark.parametrize(
    ("rule", "text", "told"),
    [
        pytest.param(name_validation.dns_label, "a-1", [], id="a label"),
        pytest.param(
            name_validation.dns_label, "a.b", ["must not contain dots"], id="dots in a label"
        ),
        pytest.param(name_validation.dns_label, "A", [LABEL], id="no label"),
        pytest.param(
            name_validation.dns_label,
            LONG,
            ["must be no more than 63 characters"],
            id="a long label",
        ),
        pytest.param(name_validation.dns_subdomain, "a.b-c", [], id="a subdomain"),
        pytest.param(name_validation.dns_subdomain, "", [SUBDOMAIN], id="an empty subdomain"),
        pytest.param(
            name_validation.dns_subdomain,
            "ä" * 127,
            ["must be no more than 253 characters", SUBDOMAIN],
            id="bytes are counted",
        ),
        pytest.param(name_validation.qualified_name, "Example_1", [], id="a key"),
        pytest.param(name_validation.qualified_name, "a.b/C", [], id="a key with a prefix"),
        pytest.param(
            name_validation.qualified_name,
            "/",
            ["prefix part must be non-empty", "name part must be non-empty", f"name part {KEY}"],
            id="a bare slash",
        ),
        pytest.param(
            name_validation.qualified_name,
            "A/b",
            [f"prefix part {SUBDOMAIN}"],
            id="a prefix in capitals",
        ),
        pytest.param(
            name_validation.qualified_name,
            "a/b/c",
            [
                f"a valid label key {KEY} with an optional DNS subdomain prefix and '/' "
                "(e.g. 'example.com/MyName')"
            ],
            id="two slashes",
        ),
        pytest.param(
            name_validation.qualified_name,
            LONG,
            ["name part must be no more than 63 bytes"],
            id="a long key",
        ),
        pytest.param(name_validation.label_value, "", [], id="an empty value"),
        pytest.param(
            name_validation.label_value, LONG, ["must be no more than 63 bytes"], id="a long value"
        ),
        pytest.param(name_validation.port_name, "http", [], id="the name of a port"),
        pytest.param(
            name_validation.port_name,
            "-1--2-",
            [
                "must contain at least one letter (a-z)",
                "must not contain consecutive hyphens",
                "must not begin or end with a hyphen",
            ],
            id="hyphens in the name of a port",
        ),
        pytest.param(
            name_validation.config_key, "..", ["must not be '..'"], id="a key that leads out"
        ),
        pytest.param(
            name_validation.config_key, "..a", ["must not start with '..'"], id="or begins so"
        ),
        pytest.param(name_validation.path_segment, "a:b", [], id="anything in a path"),
        pytest.param(
            name_validation.path_segment,
            "a/%",
            ["may not contain '/'", "may not contain '%'"],
            id="but",
        ),
        pytest.param(name_validation.path_segment, "..", ["may not be '..'"], id="no way up"),
    ],
)
def test_a_name_is_judged_in_the_servers_words(
    rule: name_validation.Rule, text: str, told: list[str]
) -> None:
    assert rule(text) == told


def test_a_prefix_may_end_in_a_dash() -> None:
    assert name_validation.name_is_subdomain("abc-", True) == []
    assert name_validation.name_is_subdomain("abc-", False) == [SUBDOMAIN]


def test_a_generated_name_is_cut_before_its_suffix() -> None:
    assert name_validation.generated("web-", "x5b2k") == "web-x5b2k"
    assert name_validation.generated("a" * 100, "x5b2k") == "a" * 58 + "x5b2k"


@given(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,57})?", fullmatch=True))
def test_what_is_generated_from_a_good_prefix_is_a_good_name(prefix: str) -> None:
    assert name_validation.name_is_label(name_validation.generated(prefix, "bcdfg"), False) == []


@given(st.text(alphabet=string.ascii_lowercase + string.digits + "-.A_", max_size=70))
def test_every_label_is_a_subdomain(text: str) -> None:
    if not name_validation.dns_label(text):
        assert not name_validation.dns_subdomain(text)
        assert not name_validation.label_value(text)
