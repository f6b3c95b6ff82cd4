"""
Kubernetes' named formats: `format.dns1123Label().validate(name)`.

A format returns the problems of a string, with the messages of API validation, or none. Only
`Environment.rules()` has it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kube_cel.library.dispatch import global_functions, member_functions
from kube_cel.library.urls import UrlError, check_request_uri
from kube_cel.time_formats import parse_date
from kube_cel.values import NONE, Opaque, OptionalValue
from kube_objects import go_text
from kube_objects.dns_names import DNS_1123_SUBDOMAIN, NameShape, label_problems

_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_KEY})?"

_UUID: Final = re.compile(
    r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.I | re.A
)
_BASE64: Final = re.compile(
    r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"
)
_TIME: Final = re.compile(
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})"
)


_DNS_1035_LABEL = NameShape(
    _LABEL_1035,
    63,
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character",
    ("my-name", "abc-123"),
)
_LABEL_KEY = NameShape(
    _KEY,
    63,
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character",
    ("MyName", "my.name", "123-abc"),
)
_LABEL_VALUE = NameShape(
    _VALUE,
    63,
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character",
    ("MyValue", "my_value", "12345"),
)


@dataclass(frozen=True, slots=True)
class NamedFormat(Opaque):
    """A format, equal to itself."""

    KIND = "kubernetes.NamedFormat"

    name: str
    problems: Callable[[str], list[str]]


def named(name: str) -> OptionalValue:
    """Find a format by name."""
    return OptionalValue(FORMATS[name]) if name in FORMATS else NONE


def validate(named_format: NamedFormat, text: str) -> OptionalValue:
    """Return the violations of a format in a text, or none."""
    found = named_format.problems(text)
    return OptionalValue(found) if found else NONE


def _qualified_name_problems(text: str) -> list[str]:
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        tail = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_LABEL_KEY.mismatch()} {tail}"]
    found = []
    if slash and not prefix:
        found.append("prefix part must be non-empty")
    elif slash:
        problems = DNS_1123_SUBDOMAIN.problems(prefix, "bytes")
        found += [f"prefix part {problem}" for problem in problems]
    if not name:
        found.append("name part must be non-empty")
    return found + [f"name part {problem}" for problem in _LABEL_KEY.problems(name, "bytes")]


def _as_prefix(problems: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Make a check that lets a name end in a dash, because more will follow."""

    def check(text: str) -> list[str]:
        # The dash and the byte before it are taken for one letter, as Kubernetes does.
        raw = go_text.encode(text)
        is_cut = len(raw) > 1 and raw.endswith(b"-")
        return problems(go_text.decode(raw[:-2] + b"a") if is_cut else text)

    return check


def _only(problem: str, is_valid: Callable[[str], bool]) -> Callable[[str], list[str]]:
    return lambda text: [] if is_valid(text) else [problem]


def _uri_problems(text: str) -> list[str]:
    """Check a URI as Go's `url.ParseRequestURI` does, with its message."""
    try:
        check_request_uri(go_text.encode(text))
    except UrlError as error:
        return [str(error)]
    return []


def _is_date(text: str) -> bool:
    """Return True for a full date; Python would also accept `20240101`."""
    try:
        parse_date(text)
    except ValueError:
        return False
    return len(text) == 10


def _is_datetime(text: str) -> bool:
    """Return True for RFC 3339 with any fraction and zone, as lenient as go-openapi."""
    parts = text.lower().split("t")
    if len(parts) < 2 or not _is_date(parts[0]):
        return False
    match = _TIME.fullmatch(parts[1])
    return match is not None and (match[1] <= "23" and match[2] <= "59" and match[3] <= "59")


FORMATS = {
    key: NamedFormat(name, problems)
    for key, name, problems in (
        ("dns1123Label", "DNS1123Label", label_problems),
        ("dns1123Subdomain", "DNS1123Subdomain", DNS_1123_SUBDOMAIN.problems),
        ("dns1035Label", "DNS1035Label", _DNS_1035_LABEL.problems),
        ("qualifiedName", "QualifiedName", _qualified_name_problems),
        ("dns1123LabelPrefix", "DNS1123LabelPrefix", _as_prefix(label_problems)),
        (
            "dns1123SubdomainPrefix",
            "DNS1123SubdomainPrefix",
            _as_prefix(DNS_1123_SUBDOMAIN.problems),
        ),
        ("dns1035LabelPrefix", "DNS1035LabelPrefix", _as_prefix(_DNS_1035_LABEL.problems)),
        ("labelValue", "LabelValue", lambda text: _LABEL_VALUE.problems(text, "bytes")),
        ("uri", "URI", _uri_problems),
        (
            "uuid",
            "uuid",
            _only("does not match the UUID format", lambda text: bool(_UUID.fullmatch(text))),
        ),
        ("byte", "byte", _only("invalid base64", lambda text: bool(_BASE64.fullmatch(text)))),
        ("date", "date", _only("invalid date", _is_date)),
        ("datetime", "datetime", _only("invalid datetime", _is_datetime)),
    )
}

GLOBALS = {
    **global_functions({"format.named(string)": named}),
    **{f"format.{key}": lambda chosen=chosen: chosen for key, chosen in FORMATS.items()},
}

MEMBERS = member_functions({"validate(kubernetes.NamedFormat, string)": validate})
