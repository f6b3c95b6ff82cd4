"""
Which functions there are: the overload tables, as data.

One line is one overload, in the notation of cel-go's messages: `(string) -> int` is called
as `f(s)`, `string.(int) -> string` as `s.f(n)`. `<T>` stands for any type, the same one
wherever it occurs in the line. A name in capitals stands for each type of that set in turn.

The order of lines with one name matters: where several overloads fit, the first decides
what an element of an empty literal is taken to be (`[].min()` is an int). It is the order
cel-go 0.31, Kubernetes 1.36 and the kro library 0.9.4 declare them in.

Operators carry cel-go's names (`_+_`, `@in`). Names with `@` after the first character are
what macros expand to there; no author can write them, but error texts show them.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kube_cel.types import Type, parse_type

# Sets a line may name. Their order is the order of declaration, see above.
_SETS = {
    "COMPARABLE": ["bool", "int", "uint", "double", "string", "bytes", "timestamp", "duration"],
    "SORTABLE": ["int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"],
    "SUMMABLE": ["int", "uint", "double", "duration"],
}

_OPERATORS = """
_+_         (bytes, bytes) -> bytes
_+_         (double, double) -> double
_+_         (duration, duration) -> duration
_+_         (duration, timestamp) -> timestamp
_+_         (timestamp, duration) -> timestamp
_+_         (int, int) -> int
_+_         (list(<A>), list(<A>)) -> list(<A>)
_+_         (string, string) -> string
_+_         (uint, uint) -> uint
_-_         (double, double) -> double
_-_         (duration, duration) -> duration
_-_         (int, int) -> int
_-_         (timestamp, duration) -> timestamp
_-_         (timestamp, timestamp) -> duration
_-_         (uint, uint) -> uint
_*_         (double, double) -> double
_*_         (int, int) -> int
_*_         (uint, uint) -> uint
_/_         (double, double) -> double
_/_         (int, int) -> int
_/_         (uint, uint) -> uint
_%_         (int, int) -> int
_%_         (uint, uint) -> uint
-_          (double) -> double
-_          (int) -> int
!_          (bool) -> bool
_&&_        (bool, bool) -> bool
_||_        (bool, bool) -> bool
_?_:_       (bool, <A>, <A>) -> <A>
_==_        (<A>, <A>) -> bool
_!=_        (<A>, <A>) -> bool
_<_         (COMPARABLE, COMPARABLE) -> bool
_<=_        (COMPARABLE, COMPARABLE) -> bool
_>_         (COMPARABLE, COMPARABLE) -> bool
_>=_        (COMPARABLE, COMPARABLE) -> bool
@in         (<A>, list(<A>)) -> bool
@in         (<A>, map(<A>, <B>)) -> bool
_[_]        (list(<A>), int) -> <A>
_[_]        (map(<A>, <B>), <A>) -> <B>
_[_]        (optional_type(list(<V>)), int) -> optional_type(<V>)
_[_]        (optional_type(map(<K>, <V>)), <K>) -> optional_type(<V>)
_[?_]       (list(<V>), int) -> optional_type(<V>)
_[?_]       (optional_type(list(<V>)), int) -> optional_type(<V>)
_[?_]       (map(<K>, <V>), <K>) -> optional_type(<V>)
_[?_]       (optional_type(map(<K>, <V>)), <K>) -> optional_type(<V>)
_?._        (dyn, string) -> optional_type(<V>)
"""

# Rules of the API server order numbers of different types. `Environment.kro()` does not; but cel-go
# forgets that restriction in the first macro of an expression, and expressions may rely on it.
_NUMBERS_ACROSS_TYPES = "".join(
    f"{operator} ({left}, {right}) -> bool\n"
    for operator in ("_<_", "_<=_", "_>_", "_>=_")
    for left in ("int", "uint", "double")
    for right in ("int", "uint", "double")
    if left != right
)

_CONVERSIONS = """
bool        (bool) -> bool
bool        (string) -> bool
bytes       (bytes) -> bytes
bytes       (string) -> bytes
double      (double) -> double
double      (int) -> double
double      (string) -> double
double      (uint) -> double
duration    (duration) -> duration
duration    (string) -> duration
dyn         (<A>) -> dyn
int         (int) -> int
int         (double) -> int
int         (duration) -> int
int         (string) -> int
int         (timestamp) -> int
int         (uint) -> int
string      (string) -> string
string      (bool) -> string
string      (bytes) -> string
string      (double) -> string
string      (duration) -> string
string      (int) -> string
string      (timestamp) -> string
string      (uint) -> string
timestamp   (timestamp) -> timestamp
timestamp   (int) -> timestamp
timestamp   (string) -> timestamp
type        (<A>) -> type(<A>)
uint        (uint) -> uint
uint        (double) -> uint
uint        (int) -> uint
uint        (string) -> uint
"""

_STANDARD_FUNCTIONS = """
contains    string.(string) -> bool
endsWith    string.(string) -> bool
matches     (string, string) -> bool
matches     string.(string) -> bool
startsWith  string.(string) -> bool
size        (bytes) -> int
size        bytes.() -> int
size        (list(<A>)) -> int
size        list(<A>).() -> int
size        (map(<A>, <B>)) -> int
size        map(<A>, <B>).() -> int
size        (string) -> int
size        string.() -> int
"""

_TIMES = """
getDate         timestamp.() -> int
getDate         timestamp.(string) -> int
getDayOfMonth   timestamp.() -> int
getDayOfMonth   timestamp.(string) -> int
getDayOfWeek    timestamp.() -> int
getDayOfWeek    timestamp.(string) -> int
getDayOfYear    timestamp.() -> int
getDayOfYear    timestamp.(string) -> int
getFullYear     timestamp.() -> int
getFullYear     timestamp.(string) -> int
getHours        timestamp.() -> int
getHours        timestamp.(string) -> int
getHours        duration.() -> int
getMilliseconds timestamp.() -> int
getMilliseconds timestamp.(string) -> int
getMilliseconds duration.() -> int
getMinutes      timestamp.() -> int
getMinutes      timestamp.(string) -> int
getMinutes      duration.() -> int
getMonth        timestamp.() -> int
getMonth        timestamp.(string) -> int
getSeconds      timestamp.() -> int
getSeconds      timestamp.(string) -> int
getSeconds      duration.() -> int
"""

_OPTIONALS = """
optional.none           () -> optional_type(<V>)
optional.of             (<V>) -> optional_type(<V>)
optional.ofNonZeroValue (<V>) -> optional_type(<V>)
optional.unwrap         (list(optional_type(<V>))) -> list(<V>)
first       list(<V>).() -> optional_type(<V>)
last        list(<V>).() -> optional_type(<V>)
hasValue    optional_type(<V>).() -> bool
or          optional_type(<V>).(optional_type(<V>)) -> optional_type(<V>)
orValue     optional_type(<V>).(<V>) -> <V>
unwrapOpt   list(optional_type(<V>)).() -> list(<V>)
value       optional_type(<V>).() -> <V>
"""

_STRINGS = """
charAt      string.(int) -> string
format      string.(list(dyn)) -> string
indexOf     string.(string) -> int
indexOf     string.(string, int) -> int
join        list(string).() -> string
join        list(string).(string) -> string
lastIndexOf string.(string) -> int
lastIndexOf string.(string, int) -> int
lowerAscii  string.() -> string
replace     string.(string, string) -> string
replace     string.(string, string, int) -> string
split       string.(string) -> list(string)
split       string.(string, int) -> list(string)
strings.quote (string) -> string
substring   string.(int) -> string
substring   string.(int, int) -> string
trim        string.() -> string
upperAscii  string.() -> string
"""

# The API server stays at an older version of the string library.
_STRINGS_SINCE_3 = """
reverse     string.() -> string
"""

_LISTS = """
distinct    list(<T>).() -> list(<T>)
flatten     list(list(<T>)).() -> list(<T>)
flatten     list(dyn).(int) -> list(dyn)
lists.range (int) -> list(int)
reverse     list(<T>).() -> list(<T>)
slice       list(<T>).(int, int) -> list(<T>)
sort        list(SORTABLE).() -> list(SORTABLE)
@sortByAssociatedKeys list(<T>).(list(SORTABLE)) -> list(<T>)
cel.@mapInsert (map(<K>, <V>), <K>, <V>) -> map(<K>, <V>)
cel.@mapInsert (map(<K>, <V>), map(<K>, <V>)) -> map(<K>, <V>)
"""

_ENCODERS = """
base64.decode (string) -> bytes
base64.encode (bytes) -> string
json.encode   (dyn) -> string
"""

_SETS_OF_LISTS = """
sets.contains   (list(<T>), list(<T>)) -> bool
sets.equivalent (list(<T>), list(<T>)) -> bool
sets.intersects (list(<T>), list(<T>)) -> bool
"""

_KUBERNETES = """
indexOf     list(<A>).(<A>) -> int
isSorted    list(SORTABLE).() -> bool
lastIndexOf list(<A>).(<A>) -> int
max         list(SORTABLE).() -> SORTABLE
min         list(SORTABLE).() -> SORTABLE
sum         list(SUMMABLE).() -> SUMMABLE

find        string.(string) -> string
findAll     string.(string) -> list(string)
findAll     string.(string, int) -> list(string)

isURL          (string) -> bool
url            (string) -> kubernetes.URL
getEscapedPath kubernetes.URL.() -> string
getHost        kubernetes.URL.() -> string
getHostname    kubernetes.URL.() -> string
getPort        kubernetes.URL.() -> string
getQuery       kubernetes.URL.() -> map(string, list(string))
getScheme      kubernetes.URL.() -> string

isQuantity         (string) -> bool
quantity           (string) -> kubernetes.Quantity
sign               (kubernetes.Quantity) -> int
add                kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity
add                kubernetes.Quantity.(int) -> kubernetes.Quantity
asApproximateFloat kubernetes.Quantity.() -> double
asInteger          kubernetes.Quantity.() -> int
compareTo          kubernetes.Quantity.(kubernetes.Quantity) -> int
isGreaterThan      kubernetes.Quantity.(kubernetes.Quantity) -> bool
isInteger          kubernetes.Quantity.() -> bool
isLessThan         kubernetes.Quantity.(kubernetes.Quantity) -> bool
sub                kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity
sub                kubernetes.Quantity.(int) -> kubernetes.Quantity

ip                   (string) -> net.IP
isIP                 (string) -> bool
ip.isCanonical       (string) -> bool
family               net.IP.() -> int
isGlobalUnicast      net.IP.() -> bool
isLinkLocalMulticast net.IP.() -> bool
isLinkLocalUnicast   net.IP.() -> bool
isLoopback           net.IP.() -> bool
isUnspecified        net.IP.() -> bool
string               (net.IP) -> string

cidr         (string) -> net.CIDR
isCIDR       (string) -> bool
containsCIDR net.CIDR.(string) -> bool
containsCIDR net.CIDR.(net.CIDR) -> bool
containsIP   net.CIDR.(string) -> bool
containsIP   net.CIDR.(net.IP) -> bool
ip           net.CIDR.() -> net.IP
masked       net.CIDR.() -> net.CIDR
prefixLength net.CIDR.() -> int
string       (net.CIDR) -> string

isSemver      (string) -> bool
semver        (string) -> kubernetes.Semver
compareTo     kubernetes.Semver.(kubernetes.Semver) -> int
isGreaterThan kubernetes.Semver.(kubernetes.Semver) -> bool
isLessThan    kubernetes.Semver.(kubernetes.Semver) -> bool
major         kubernetes.Semver.() -> int
minor         kubernetes.Semver.() -> int
patch         kubernetes.Semver.() -> int
"""

# `Environment.kro()` has version 0 of the semver library, and no named formats.
_KUBERNETES_RULES_ONLY = """
isSemver  (string, bool) -> bool
semver    (string, bool) -> kubernetes.Semver

format.byte                  () -> kubernetes.NamedFormat
format.date                  () -> kubernetes.NamedFormat
format.datetime              () -> kubernetes.NamedFormat
format.dns1035Label          () -> kubernetes.NamedFormat
format.dns1035LabelPrefix    () -> kubernetes.NamedFormat
format.dns1123Label          () -> kubernetes.NamedFormat
format.dns1123LabelPrefix    () -> kubernetes.NamedFormat
format.dns1123Subdomain      () -> kubernetes.NamedFormat
format.dns1123SubdomainPrefix () -> kubernetes.NamedFormat
format.labelValue            () -> kubernetes.NamedFormat
format.named                 (string) -> optional_type(kubernetes.NamedFormat)
format.qualifiedName         () -> kubernetes.NamedFormat
format.uri                   () -> kubernetes.NamedFormat
format.uuid                  () -> kubernetes.NamedFormat
validate  kubernetes.NamedFormat.(string) -> optional_type(list(string))
"""

_KRO = """
hash.fnv64a    (string) -> bytes
hash.md5       (string) -> bytes
hash.sha256    (string) -> bytes
json.marshal   (dyn) -> string
json.unmarshal (string) -> dyn
lists.insertAtIndex (list(<T>), int, <T>) -> list(<T>)
lists.removeAtIndex (list(<T>), int) -> list(<T>)
lists.setAtIndex    (list(<T>), int, <T>) -> list(<T>)
merge          map(<K>, <V>).(map(<K>, <V>)) -> map(<K>, <V>)
deepMerge      dyn.(dyn) -> dyn
omit           () -> dyn
random.seededInt    (int, int, string) -> int
random.seededString (int, string) -> string
condition      kro.run.Runtime.(dyn, string) -> kro.run.Condition
newCondition   kro.run.Runtime.(map(string, string)) -> kro.run.Condition
"""

_EVERYWHERE = (_OPERATORS, _CONVERSIONS, _STANDARD_FUNCTIONS, _TIMES, _OPTIONALS, _STRINGS)
KRO_TABLES = (*_EVERYWHERE, _LISTS, _STRINGS_SINCE_3, _ENCODERS, _KUBERNETES, _KRO)
KRO_TABLES_AFTER_MACRO = (*KRO_TABLES, _NUMBERS_ACROSS_TYPES)
RULES_TABLES = (
    *_EVERYWHERE,
    *(_NUMBERS_ACROSS_TYPES, _LISTS, _SETS_OF_LISTS, _KUBERNETES, _KUBERNETES_RULES_ONLY),
)


@dataclass(frozen=True, slots=True)
class Overload:
    """
    One way to call a function.

    The receiver of a member is the first of `parameters`. `type_parameters` names the `<T>`s.
    """

    function: str
    is_member: bool
    parameters: tuple[Type, ...]
    result: Type
    type_parameters: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        names = dict.fromkeys(_parameter_names((*self.parameters, self.result)))
        object.__setattr__(self, "type_parameters", tuple(names))

    def __str__(self) -> str:
        shown = [str(parameter) for parameter in self.parameters]
        receiver = f"{shown.pop(0)}." if self.is_member else ""
        return f"{receiver}{self.function}({', '.join(shown)}) -> {self.result}"


def _parameter_names(types: tuple[Type, ...]) -> Iterator[str]:
    for one in types:
        if one.kind == "param":
            yield one.name
        yield from _parameter_names(one.parameters)


def read_tables(tables: tuple[str, ...]) -> Mapping[str, tuple[Overload, ...]]:
    """Read overload tables, in their order; overloads of one name may come from several."""
    functions: dict[str, list[Overload]] = {}
    for line in "".join(tables).splitlines():
        if line:
            name, signature = line.split(maxsplit=1)
            functions.setdefault(name, []).extend(_read_overloads(name, signature))
    return {name: tuple(overloads) for name, overloads in functions.items()}


_SIGNATURE = re.compile(r"(?:(?P<receiver>\S.*)\.)?\((?P<parameters>.*)\) -> (?P<result>.+)")


def _read_overloads(name: str, signature: str) -> Iterator[Overload]:
    for spelled in _spell_out(signature):
        matched = _SIGNATURE.fullmatch(spelled)
        if matched is None:
            raise ValueError(f"not a signature: {name} {spelled}")
        receiver, inner, result = matched.group("receiver", "parameters", "result")
        written = ", ".join(part for part in (receiver, inner) if part)
        parameters = parse_type(f"list({written})").parameters if written else ()
        yield Overload(name, receiver is not None, parameters, parse_type(result))


def _spell_out(signature: str) -> list[str]:
    """Write a line that names a set of types once for each of them."""
    for name, members in _SETS.items():
        if name in signature:
            return [signature.replace(name, member) for member in members]
    return [signature]
