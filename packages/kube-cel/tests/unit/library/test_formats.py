import pytest

from kube_cel.library.formats import FORMATS, GLOBALS, MEMBERS, NamedFormat
from kube_cel.values import NONE, EvaluationError, equals

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "
    "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    r"for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "
    "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
KEY = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
    "'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def problems(name: str, text: str) -> list[str]:
    chosen = GLOBALS[f"format.{name}"]()
    found = MEMBERS["validate", NamedFormat.KIND](chosen, text)
    if found is NONE:
        return []
    assert found.present
    assert found.value
    return list(found.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dns1123Label", "my-name-1"),
        ("dns1123Label", "a" * 63),
        ("dns1123LabelPrefix", "my-"),
        ("dns1123Subdomain", "my.example.com"),
        ("dns1123SubdomainPrefix", "my.example-"),
        ("dns1035Label", "a1"),
        ("dns1035LabelPrefix", "a1-"),
        ("qualifiedName", "example.com/My_Name.1"),
        ("qualifiedName", "app"),
        ("labelValue", ""),
        ("labelValue", "My_Value"),
        ("uri", "https://example.com"),
        ("uuid", "123E4567-e89b-12d3-a456-426614174000"),
        ("uuid", "123e4567e89b12d3a456426614174000"),
        ("byte", "YQ=="),
        ("date", "2024-02-29"),
        ("datetime", "2024-01-02T03:04:05.5Z"),
        ("datetime", "2024-01-02t23:59:59+01:00"),
    ],
)
def test_what_has_the_format_has_no_problems(name: str, text: str) -> None:
    assert problems(name, text) == []


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("dns1123Label", "A", [LABEL]),
        ("dns1123Label", "", [LABEL]),
        ("dns1123Label", "a.b", ["must not contain dots"]),
        ("dns1123Label", "a" * 64, ["must be no more than 63 characters"]),
        ("dns1123Label", "ü" * 40, ["must be no more than 63 characters", LABEL]),
        ("dns1123Label", "a-", [LABEL]),
        ("dns1123Label", "a\n", [LABEL]),
        ("dns1123LabelPrefix", "-", [LABEL]),
        ("dns1123LabelPrefix", "ü-", [LABEL]),
        ("dns1123Subdomain", "a..b", [SUBDOMAIN]),
        ("dns1123Subdomain", "a" * 254, ["must be no more than 253 characters"]),
        ("dns1035Label", "1a", [LABEL_1035]),
        ("qualifiedName", "/x", ["prefix part must be non-empty"]),
        ("qualifiedName", "x/", ["name part must be non-empty", f"name part {KEY}"]),
        ("qualifiedName", "Ex.com/x", [f"prefix part {SUBDOMAIN}"]),
        ("qualifiedName", "c" * 64, ["name part must be no more than 63 bytes"]),
        (
            "qualifiedName",
            "a/b/c",
            [
                f"a valid label key {KEY} with an optional DNS subdomain prefix and '/' "
                "(e.g. 'example.com/MyName')"
            ],
        ),
        ("labelValue", "-", [VALUE]),
        ("labelValue", "v" * 64, ["must be no more than 63 bytes"]),
        ("uri", "foo", ['parse "foo": invalid URI for request']),
        ("uuid", "x", ["does not match the UUID format"]),
        ("byte", "", ["invalid base64"]),
        ("byte", "YQ=", ["invalid base64"]),
        ("date", "2023-02-29", ["invalid date"]),
        ("date", "2024-1-2", ["invalid date"]),
        ("datetime", "2024-01-02", ["invalid datetime"]),
        ("datetime", "2024-01-02T24:00:00Z", ["invalid datetime"]),
        ("datetime", "2024-01-02 03:04:05Z", ["invalid datetime"]),
    ],
)
def test_problems_are_those_of_api_validation(name: str, text: str, found: list[str]) -> None:
    assert problems(name, text) == found


def test_formats_are_found_by_name() -> None:
    found = GLOBALS["format.named"]("dns1123Label")
    assert equals(found.value, GLOBALS["format.dns1123Label"]())
    assert not equals(found.value, GLOBALS["format.uuid"]())
    assert GLOBALS["format.named"]("nonsense") is NONE


def test_every_format_has_its_function() -> None:
    assert {f"format.{name}" for name in FORMATS} == set(GLOBALS) - {"format.named"}


def test_only_text_is_validated() -> None:
    with pytest.raises(EvaluationError, match=r"^no such overload: validate\(kubernetes.*, int\)$"):
        MEMBERS["validate", NamedFormat.KIND](FORMATS["uuid"], 1)
