"""
Rules for names, with the messages of the API server.

A rule takes a text and returns its violations; none if it is valid. A `NameRule` validates names of
objects, and prefixes of generated names. The messages are exactly the API server's, and so are the
lengths, which one rule counts in characters and another in bytes.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/util/validation/validation.go IsDNS1123Label,
IsDNS1123Subdomain, IsQualifiedName; k8s.io/apimachinery/pkg/api/validation/generic.go
NameIsDNSSubdomain; k8s.io/apimachinery/pkg/api/validation/path/name.go IsValidPathSegmentName;
k8s.io/apiserver/pkg/storage/names/generate.go simpleNameGenerator.GenerateName.
"""

import re
from collections.abc import Callable

Rule = Callable[[str], list[str]]
# The second argument: the text is the beginning of a name, something is appended to it.
NameRule = Callable[[str, bool], list[str]]

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_UNDERSCORE_LABEL = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORE_SUBDOMAIN = rf"{_UNDERSCORE_LABEL}(\.{_UNDERSCORE_LABEL})*"
_DNS_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_WILDCARD = rf"\*\.{_SUBDOMAIN}"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_KEY})?"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_PERCENT = "[0-9]+%"
_HEADER = "[-A-Za-z0-9]+"
_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"

MAX_LABEL_LENGTH = 63
MAX_SUBDOMAIN_LENGTH = 253
_MAX_PORT_NAME_LENGTH = 15
_MAX_GENERATE_NAME_LENGTH = 58

_MESSAGES = {
    _LABEL: (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
        "and must start and end with an alphanumeric character",
        ("my-name", "123-abc"),
    ),
    _SUBDOMAIN: (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' "
        "or '.', and must start and end with an alphanumeric character",
        ("example.com",),
    ),
    _UNDERSCORE_SUBDOMAIN: (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', "
        "'-' or '.', and must start and end with an alphanumeric character",
        ("example.com",),
    ),
    _DNS_1035: (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with "
        "an alphabetic character, and end with an alphanumeric character",
        ("my-name", "abc-123"),
    ),
    _WILDCARD: (
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, "
        "which must consist of lower case alphanumeric characters, '-' or '.' and end with an "
        "alphanumeric character",
        ("*.example.com",),
    ),
    _KEY: (
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
        "an alphanumeric character",
        ("MyName", "my.name", "123-abc"),
    ),
    _VALUE: (
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' "
        "or '.', and must start and end with an alphanumeric character",
        ("MyValue", "my_value", "12345"),
    ),
    _CONFIG_KEY: (
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        ("key.name", "KEY_NAME", "key-name"),
    ),
    _PERCENT: (
        "a valid percent string must be a numeric string followed by an ending '%'",
        ("1%", "93%"),
    ),
    _HEADER: (
        "a valid HTTP header must consist of alphanumeric characters or '-'",
        ("X-Header-Name",),
    ),
}
_PORT_NAME = re.compile("[-a-z0-9]+")


def pattern_error(words: str, pattern: str, *examples: str) -> str:
    """Return the error that a text does not match a pattern."""
    message = " or ".join(f"'{each}', " for each in examples)
    opening = f"e.g. {message}" if examples else ""
    return f"{words} ({opening}regex used for validation is '{pattern}')"


def _matches(text: str, pattern: str) -> bool:
    return re.fullmatch(pattern, text) is not None  # `re` keeps what it has compiled


def _pattern_message(pattern: str) -> str:
    words, examples = _MESSAGES[pattern]
    return pattern_error(words, pattern, *examples)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def too_long(most: int) -> str:
    """Return the error that a text is too long."""
    return f"must be no more than {most} characters"


def in_range(number: int, least: int, most: int) -> list[str]:
    """Validate whether a number is between two others, or one of them."""
    if least <= number <= most:
        return []
    return [f"must be between {least} and {most}, inclusive"]


def port_number(number: int) -> list[str]:
    """Validate the number of a port."""
    return in_range(number, 1, 65535)


def _validate_pattern(text: str, pattern: str, most: int) -> list[str]:
    if _size(text) <= most and _matches(text, pattern):
        return []
    found = [too_long(most)] if _size(text) > most else []
    if not _matches(text, pattern):
        found.append(_pattern_message(pattern))
    return found


def dns_label(text: str) -> list[str]:
    """Validate an RFC 1123 label."""
    if len(text) <= MAX_LABEL_LENGTH and _matches(text, _LABEL):
        return []
    found = [too_long(MAX_LABEL_LENGTH)] if _size(text) > MAX_LABEL_LENGTH else []
    if not _matches(text, _LABEL):
        dotted = _matches(text, _SUBDOMAIN)
        found.append("must not contain dots" if dotted else _pattern_message(_LABEL))
    return found


def dns_subdomain(text: str) -> list[str]:
    """Validate an RFC 1123 subdomain."""
    return _validate_pattern(text, _SUBDOMAIN, MAX_SUBDOMAIN_LENGTH)


def dns_subdomain_with_underscore(text: str) -> list[str]:
    """Validate a subdomain in which underscores may stand."""
    return _validate_pattern(text, _UNDERSCORE_SUBDOMAIN, MAX_SUBDOMAIN_LENGTH)


def dns_1035_label(text: str) -> list[str]:
    """Validate an RFC 1035 label."""
    return _validate_pattern(text, _DNS_1035, MAX_LABEL_LENGTH)


def wildcard_subdomain(text: str) -> list[str]:
    """Validate `*.` and a subdomain."""
    return _validate_pattern(text, _WILDCARD, MAX_SUBDOMAIN_LENGTH)


def qualified_name(text: str) -> list[str]:
    """Validate the key of a label: a name with an optional subdomain before a slash."""
    parts = text.split("/")
    if len(parts) > 2:
        hint = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_pattern_message(_KEY)}{hint}"]
    found = []
    name = parts[-1]
    if len(parts) == 2:
        prefix = parts[0]
        if not prefix:
            found = ["prefix part must be non-empty"]
        else:
            found = [f"prefix part {_in_bytes(each)}" for each in dns_subdomain(prefix)]
    if not name:
        found.append("name part must be non-empty")
    elif _size(name) > MAX_LABEL_LENGTH:
        found.append(f"name part must be no more than {MAX_LABEL_LENGTH} bytes")
    if not _matches(name, _KEY):
        found.append(f"name part {_pattern_message(_KEY)}")
    return found


def _in_bytes(message: str) -> str:
    # The newer of the API server's two sets of rules counts bytes.
    return (
        message.removesuffix("characters") + "bytes" if message.endswith(" characters") else message
    )


def label_value(text: str) -> list[str]:
    """Validate the value of a label."""
    if _size(text) <= MAX_LABEL_LENGTH and _matches(text, _VALUE):
        return []
    return [_in_bytes(each) for each in _validate_pattern(text, _VALUE, MAX_LABEL_LENGTH)]


def http_path(text: str) -> list[str]:
    """Validate what stands after the slash of a domain-prefixed path."""
    if re.fullmatch(_HTTP_PATH, text):
        return []
    return [pattern_error("Invalid path", _HTTP_PATH)]


def config_key(text: str) -> list[str]:
    """Validate a key of a ConfigMap or a Secret."""
    found = _validate_pattern(text, _CONFIG_KEY, MAX_SUBDOMAIN_LENGTH)
    if text in (".", ".."):
        return [*found, f"must not be '{text}'"]
    return [*found, "must not start with '..'"] if text.startswith("..") else found


def relaxed_env_var_name(text: str) -> list[str]:
    """Validate the name of an environment variable by the wider rule."""
    if not text:
        return ["environment variable name must be non-empty"]
    if all(" " <= letter <= "~" and letter != "=" for letter in text):
        return []
    return [
        "a valid environment variable name must consist only of printable ASCII characters "
        "other than '='"
    ]


def percent(text: str) -> list[str]:
    """Validate a percentage."""
    return [] if _matches(text, _PERCENT) else [_pattern_message(_PERCENT)]


def http_header(text: str) -> list[str]:
    """Validate the name of an HTTP header."""
    return [] if _matches(text, _HEADER) else [_pattern_message(_HEADER)]


def port_name(text: str) -> list[str]:
    """Validate the name of a port."""
    found = [too_long(_MAX_PORT_NAME_LENGTH)] if _size(text) > _MAX_PORT_NAME_LENGTH else []
    if not _PORT_NAME.fullmatch(text):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= letter <= "z" for letter in text):
        found.append("must contain at least one letter (a-z)")
    if "--" in text:
        found.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        found.append("must not begin or end with a hyphen")
    return found


def path_segment(text: str, is_prefix: bool = False) -> list[str]:
    """Validate whether a name can be part of a path: the least that any name must be."""
    if text in (".", "..") and not is_prefix:
        return [f"may not be '{text}'"]
    return [f"may not contain '{each}'" for each in "/%" if each in text]


def _masked(text: str, is_prefix: bool) -> str:
    """Return what is validated of a name, or of a `generateName` (`is_prefix`)."""
    # What is appended makes a dash at the end acceptable. The API server's mask swallows the
    # letter before the dash as well; lengths are checked after it.
    if is_prefix and len(text) > 1 and text.endswith("-"):
        return f"{text[:-2]}a"
    return text


def name_is_subdomain(name: str, is_prefix: bool) -> list[str]:
    """Validate the name of most objects."""
    return dns_subdomain(_masked(name, is_prefix))


def name_is_label(name: str, is_prefix: bool) -> list[str]:
    """Validate the name of an object that must be a label."""
    return dns_label(_masked(name, is_prefix))


def name_is_1035_label(name: str, is_prefix: bool) -> list[str]:
    """Validate the name of a Service."""
    return dns_1035_label(_masked(name, is_prefix))


def generated(prefix: str, suffix: str) -> str:
    """Create a name of `generateName` and five random letters of `SUFFIX_LETTERS`."""
    return prefix[:_MAX_GENERATE_NAME_LENGTH] + suffix


SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
