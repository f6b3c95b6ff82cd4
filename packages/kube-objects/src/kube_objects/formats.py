"""
String formats, as far as an API server checks them for custom objects.

Formats outside this table (`int32`, `quantity` …) are documentation to it. Names are compared
without hyphens. Each check answers as the server's does, oddities included: an empty string is
no base64, and a dotted IPv6 address passes for IPv4.
"""

import ipaddress
import re
import unicodedata
from calendar import monthrange
from collections.abc import Callable

_FormatCheck = Callable[[str], bool]


def matches_format(text: str, name: str) -> bool:
    """Return whether `text` has a format; true for formats that are not checked."""
    check = _FORMATS.get(name.replace("-", ""))
    return check is None or check(text)


def is_checked_format(name: str) -> bool:
    """Return whether an API server checks a format of strings."""
    return name.replace("-", "") in _FORMATS


def _matches(pattern: str) -> _FormatCheck:
    # Compiled when first asked for, and kept by `re`: most runs check no format at all.
    return lambda text: re.fullmatch(pattern, text, re.ASCII) is not None


_HEX4 = "[0-9a-fA-F]{4}"


def _uuid(third: str = _HEX4, fourth: str = _HEX4) -> _FormatCheck:
    return _matches(f"[0-9a-fA-F]{{8}}-?{_HEX4}-?{third}-?{fourth}-?[0-9a-fA-F]{{12}}")


_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")


def _is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = (int(part) for part in match.groups())
    # The calendar repeats every 400 years, and Python's begins with the year 1.
    return 1 <= month <= 12 and 1 <= day <= monthrange(year % 400 + 400, month)[1]


def _is_date_time(text: str) -> bool:
    """Return True for RFC 3339 with any fraction and zone, as lenient as go-openapi."""
    parts = text.lower().split("t")
    if len(parts) < 2 or not _is_date(parts[0]):
        return False
    match = _TIME.fullmatch(parts[1])
    return match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


_GO_DURATION = re.compile(r"[-+]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)")
_AMOUNT = re.compile(r"[0-9]+\s*([A-Za-zµ]+)")
_UNITS = frozenset(("ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"))
_UNIT_STARTS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")


def _is_duration(text: str) -> bool:
    if _GO_DURATION.fullmatch(text):
        return True
    units = (unit.lower() for unit in _AMOUNT.findall(text))
    return any(unit in _UNITS or unit.startswith(_UNIT_STARTS) for unit in units)


_LEADING_ZEROS = re.compile(r"(?<![0-9a-fA-F])0+(?=[0-9a-fA-F])")


def _is_ip(text: str) -> bool:
    """Return True for an IPv4 or IPv6 address without a zone."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text  # Python knows zones


def _is_lenient_ip(text: str) -> bool:
    """Accept leading zeros, as the server does for old times' sake."""
    return _is_ip(_LEADING_ZEROS.sub("", text))


def _is_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    if not slash or not _is_lenient_ip(address) or not re.fullmatch(r"[0-9]{1,9}", bits):
        return False
    return int(bits) <= (128 if ":" in address else 32)


_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_HOST = re.compile(r"[^\x00-\x20\x7f#%/?@\[\\^`{|}]*")
_PORT = re.compile(r"(?::[0-9]*)?")


def _is_uri(text: str) -> bool:
    """Answer as Go's `url.ParseRequestURI`: an absolute URI or an absolute path."""
    if text == "" or re.search(r"[\x00-\x1f\x7f]", text):
        return False
    scheme = _SCHEME.match(text)
    rest = text[scheme.end() :] if scheme else text
    rest = rest.partition("?")[0]
    if not rest.startswith("/"):
        return scheme is not None or text == "*"
    if scheme and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        return _is_authority(authority) and _BAD_ESCAPE.search(slash + path) is None
    return _BAD_ESCAPE.search(rest) is None


def _is_authority(text: str) -> bool:
    user, at, host = text.rpartition("@")
    if at and (not _USER.fullmatch(user) or _BAD_ESCAPE.search(user)):
        return False
    if host.startswith("["):
        inside, bracket, port = host[1:].rpartition("]")
        address = inside.partition("%25")[0]
        is_address = ":" in address and _is_ip(address)
        return bool(bracket) and is_address and _PORT.fullmatch(port) is not None
    colon = host.rfind(":")
    if colon >= 0 and not _PORT.fullmatch(host[colon:]):
        return False
    return _HOST.fullmatch(host) is not None


# Letters, digits, !#$%&'*+/=?^_`{|}~- and all beyond ASCII; by what it is not, it compiles at once.
_ATOM = r'[^\x00-\x20\x7f"(),.:;<>@\[\\\]]+'
_EMAIL = re.compile(
    rf'(?:{_ATOM}(?:\.{_ATOM})*|"(?:[^"\\\r\n]|\\.)*")@(?:{_ATOM}(?:\.{_ATOM})*|\[([^\[\]\\]*)\])'
)
_NAMED_EMAIL = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^<>"@,;:\\\[\]()]*)\s*<([^<>]*)>\s*')


def _is_email(text: str) -> bool:
    named = _NAMED_EMAIL.fullmatch(text)
    address = _EMAIL.fullmatch(named[1] if named else text.strip())
    return address is not None and (address[1] is None or _is_ip(address[1]))


# Over shapes, not characters: L for a letter of any script, x for a digit or a symbol.
_HOSTNAME = re.compile(r"[Lx](?:-?[Lx]{0,62})?|(?:[Lx](?:[Lx-]{0,61}[Lx])?\.)+L{2,63}")


def _is_hostname(text: str) -> bool:
    if len(text.encode()) > 255 or not _HOSTNAME.fullmatch("".join(map(_shape, text))):
        return False
    return all(len(part.encode()) <= 63 for part in text.split("."))


def _shape(character: str) -> str:
    category = unicodedata.category(character)[0]
    if category == "L":
        return "L"
    return "x" if category == "S" or character in "0123456789" else character


_CARD = re.compile(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)


def _is_credit_card(text: str) -> bool:
    """Return True for a card number whose Luhn check digit is right."""
    digits = re.sub(r"[^0-9]+", "", text)
    if not _CARD.fullmatch(digits):
        return False
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(number // 10 + number % 10 for number in doubled) % 10 == 0


def _is_isbn10(text: str) -> bool:
    """Return True for ten digits with a right check digit; X stands for ten."""
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        return False
    values = (10 if digit == "X" else int(digit) for digit in digits)
    return sum((place + 1) * value for place, value in enumerate(values)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"[0-9]{13}", digits):
        return False
    return sum((1, 3)[place % 2] * int(digit) for place, digit in enumerate(digits)) % 10 == 0


_BYTE = "(?:0|[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-5])"
_MAC = "|".join(
    f"[0-9a-fA-F]{{2}}(?:{separator}[0-9a-fA-F]{{2}}){{{count - 1}}}"
    for separator in (":", "-")
    for count in (6, 8, 20)
)
_DOTTED_MAC = "|".join(f"{_HEX4}(?:\\.{_HEX4}){{{count - 1}}}" for count in (3, 4, 10))
_NAME = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_is_short_name = _matches(_NAME)
_is_long_name = _matches(rf"{_NAME}(?:\.{_NAME})*")

_FORMATS: dict[str, _FormatCheck] = {
    "bsonobjectid": _matches("[0-9a-fA-F]{24}"),
    "byte": _matches(
        "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"
    ),
    "cidr": _is_cidr,
    "creditcard": _is_credit_card,
    "date": _is_date,
    "datetime": _is_date_time,
    "duration": _is_duration,
    "email": _is_email,
    "hexcolor": _matches("#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "hostname": _is_hostname,
    "ipv4": lambda text: "." in text and _is_lenient_ip(text),
    "ipv6": lambda text: ":" in text and _is_ip(text),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "k8slongname": lambda text: len(text) <= 253 and _is_long_name(text),
    "k8sshortname": lambda text: len(text) <= 63 and _is_short_name(text),
    "mac": _matches(f"{_MAC}|{_DOTTED_MAC}"),
    "password": lambda _: True,
    "rgbcolor": _matches(rf"rgb\(\s*{_BYTE}\s*,\s*{_BYTE}\s*,\s*{_BYTE}\s*\)"),
    "ssn": _matches("[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}"),
    "uri": _is_uri,
    "uuid": _uuid(),
    "uuid3": _uuid("3[0-9a-fA-F]{3}"),
    "uuid4": _uuid("4[0-9a-fA-F]{3}", "[89abAB][0-9a-fA-F]{3}"),
    "uuid5": _uuid("5[0-9a-fA-F]{3}", "[89abAB][0-9a-fA-F]{3}"),
}
