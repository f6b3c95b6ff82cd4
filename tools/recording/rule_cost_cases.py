"""
Validation rules to be weighed, and the fields they are about.

`FIELDS` are those of one object; all expressions see it as `self`. `DEFINITIONS` are whole
definitions: what several rules cost together, and how often a rule is asked.
"""

from typing import Any

from tools.recording.custom_cases import definition, spec

Json = Any


def _text(longest: int | None = None, **more: Json) -> Json:
    return {"type": "string", **({} if longest is None else {"maxLength": longest}), **more}


def _list(items: Json, most: int | None = None, **more: Json) -> Json:
    bound = {} if most is None else {"maxItems": most}
    return {"type": "array", "items": items, **bound, **more}


def _map(values: Json, most: int | None = None, **more: Json) -> Json:
    bound = {} if most is None else {"maxProperties": most}
    return {"type": "object", "additionalProperties": values, **bound, **more}


def _object(**properties: Json) -> Json:
    return {"type": "object", "properties": properties}


_NUMBER: Json = {"type": "integer"}
_PART = _object(
    a=_text(4),
    b=_text(70),
    i=_NUMBER,
    l=_list(_text(2), 30),
    m=_map(_text(3), 2),
    o=_object(a=_text(9), b=_text(8), deep=_object(x=_text(5), y=_text(50))),
)

FIELDS: Json = {
    "s": _text(10),
    "s2": _text(300),
    "u": _text(),
    "e": _text(enum=["a", "bbb", "cc"]),
    "by": _text(20, format="byte"),
    "byu": _text(format="byte"),
    "d": _text(format="duration"),
    "t": _text(format="date-time"),
    "t2": _text(5, format="date"),
    "n": _NUMBER,
    "x": {"type": "number"},
    "ok": {"type": "boolean"},
    "is": {"x-kubernetes-int-or-string": True},
    "is7": {"x-kubernetes-int-or-string": True, "maxLength": 7},
    "l": _list(_text(5), 10),
    "lu": _list(_text()),
    "ln": _list(_NUMBER, 20),
    "lnu": _list(_NUMBER),
    "lx": _list({"type": "number"}, 9),
    "lb": _list({"type": "boolean"}, 9),
    "lt": _list(_text(format="date-time"), 6),
    "ld": _list(_text(format="duration"), 6),
    "lby": _list(_text(11, format="byte"), 6),
    "ll": _list(_list(_text(6), 3), 4),
    "m": _map(_text(8), 6),
    "mu": _map(_NUMBER),
    "ml": _map(_list(_text(12), 5), 4),
    "mo": _map(_PART, 3),
    "mm": _map(_map(_text(2), 7), 3),
    "o": _PART,
    "lo": _list(_PART, 5),
    "loo": _object(inner=_object(list=_list(_PART, 6), map=_map(_PART, 4))),
    "lis": _list({"x-kubernetes-int-or-string": True, "maxLength": 3}, 4),
    "er": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    },
    "pu": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"k": _text(6)},
    },
    "a-b": _text(13),
    "namespace": _text(14),
    "dflt": {**_text(9), "default": "x"},
    "nul": {**_text(9), "nullable": True},
    "sem": _text(30),
}

_PLAIN = """
true
self.ok
!self.ok
has(self.s)
has(self.o.a)
has(self.o.o.deep.x)
self.n == 1
self.n > 1 && self.n < 5
self.n + 1 == 2
-self.n == 2
self.x < 1.5
self.x > self.n
self.n in [1, 2, 3]
self.s in ['a', 'b', 'ccc']
self.s in self.l
self.s in self.m
self.u in self.lu
self.s == 'abc'
self.s != 'abc'
self.s == self.u
self.u == self.u
self.s == self.s2
self.u != ''
self.e == 'a'
self.e == self.s
self.s < 'b'
self.s >= self.u
self.u <= self.u
self.by == b'abc'
self.by < self.byu
self.byu == self.byu
self.l == self.l
self.l == ['a']
self.lu == self.lu
self.m == self.m
self.m == {'a': 'b'}
self.o == self.o
self.lo == self.lo
self.ll == self.ll
self.mu == self.mu
self.l[0] == 'a'
self.l[self.n] == self.s
self.lu[0] == self.u
self.m['a'] == 'b'
self.m.a == 'b'
self.m[self.s] == self.u
self.mu['a'] == 1
self.mu.a == 1
self.mo['a'].a == 'b'
self.mo.a.b == self.u
self.lo[0].b == self.u
self.lo[0].o.b == self.u
self.ll[0][0] == self.u
self.ll[0] == self.ll[1]
self.ml['a'][0] == self.u
self.mm['a']['b'] == self.u
self.o.b == self.u
self.o.o.deep.y == self.u
self.a__dash__b == self.u
self.__namespace__ == self.u
self.namespace == self.u
self.dflt == self.u
self.nul == self.u
self.ok ? self.s == self.u : self.s2 == self.u
(self.ok ? self.s : self.s2) == self.u
(self.ok ? self.s : 'a') == self.u
(self.ok ? self.l : ['a', 'b'])[0] == self.u
(self.ok ? ['aaaa'] : ['a', 'b'])[0] == self.u
[self.s, self.u].size() > 1
[self.s, self.s2][0] == self.u
{'a': self.s, 'b': self.s2}['a'] == self.u
{self.s: 1}[self.u] == 1
[[self.s]][0][0] == self.u
{'k': [self.s]}['k'][0] == self.u
self.s + self.s2 == self.u
self.s + 'abc' + self.s2 == self.u
self.u + self.u == self.u
self.by + self.by == self.byu
self.l + self.l == self.lu
(self.l + self.l)[0] == self.u
(self.l + ['abc'])[0] == self.u
([self.s] + ['abc'])[0] == self.u
size(self.s) > 1
self.u.size() < 5
size(self.l) + size(self.m) > 1
self.ok || self.s == self.s2
self.ok && (self.s == self.s2 || self.u == self.u) && self.n > 1
type(self.is) == int
type(self.is) == string && self.is == 'a'
self.is == 1
self.is == self.u
self.is7 == self.u
self.is7 > 5
string(self.is7) == self.u
self.is7 + self.is7 == self.u
self.lis[0] == self.u
self.lis.all(x, type(x) == int ? x > 1 : x == self.u)
type(self.s) == string
type(self.t) == google.protobuf.Timestamp
self.er.metadata.name == self.u
self.er.kind == 'Pod' && self.er.apiVersion == 'v1'
self.er.metadata.generateName.startsWith(self.u)
self.pu.k == self.u
self.pu == self.pu
dyn(self.s) == self.u
dyn(self.l)[0] == self.u
dyn(self.o).a == 'a'
dyn(self.s) + 'a' == self.u
dyn(self.ok ? self.s : self.s2) == self.u
dyn(1) == 1.0
self.s != null
has(self.o) ? self.o.a == self.u : true
"""

_LOOPS = """
self.l.all(x, x == 'a')
self.l.all(x, x == self.u)
self.l.exists(x, x == self.u)
self.l.exists_one(x, x == self.u)
self.l.all(x, self.l.all(y, x == y))
self.l.all(x, self.l.exists(y, self.l.exists_one(z, x + y == z)))
self.lu.all(x, x == 'a')
self.lnu.all(x, x > 1)
self.ln.all(x, x > 1)
self.ll.all(x, x.all(y, y == self.u))
self.ll.all(x, x[0] == self.u)
self.ll.exists(x, x == ['a'])
self.m.all(k, k == 'a')
self.m.all(k, k == self.u)
self.m.all(k, self.m[k] == self.u)
self.mu.all(k, self.mu[k] > 1)
self.ml.all(k, self.ml[k].all(x, x == self.u))
self.mo.all(k, self.mo[k].b == self.u)
self.mm.all(k, self.mm[k].all(j, self.mm[k][j] == self.u))
self.lo.all(x, x.a == self.u)
self.lo.all(x, x.a == x.b)
self.lo.all(x, x.b == x.a)
self.lo.all(x, x.o.a == x.o.b)
self.lo.all(x, x.o.deep.x == x.o.deep.y)
self.lo.all(x, x.o.deep.y == self.u && x.o.deep.x == self.u)
self.lo.all(x, x.l[x.i] == self.u)
self.lo.all(x, x.l[0] == self.u)
self.lo.all(x, x.m[x.a] == self.u)
self.lo.all(x, x.m['a'] == self.u)
self.lo.all(x, x.l.all(y, y == x.b))
self.lo.all(x, x.l.all(y, x.b == y))
self.lo.all(x, x.l.exists(y, y == x.l[x.i]))
self.lo.all(x, self.lo.all(y, x.a == y.a && x.b == y.b))
self.lo.all(x, x.a.contains(x.b))
self.lo.all(x, x.l.join(x.a) == self.u)
self.lo.all(x, x.l.isSorted() && x.b == self.u)
self.lo.all(x, x.l.indexOf(x.a) > 1)
self.lo.map(x, x.a).all(y, y == self.u)
self.lo.map(x, x.b)[0] == self.u
self.lo.map(x, x.l)[0][0] == self.u
self.loo.inner.list.all(x, x.a == x.b)
self.loo.inner.list.all(x, x.l[x.i] == self.u)
self.loo.inner.list.all(x, x.o.deep.x == self.u)
self.loo.inner.map.all(k, self.loo.inner.map[k].b == self.u)
self.loo.inner.list.all(x, x.m.all(k, x.m[k] == self.u))
self.l.map(x, x) == self.l
self.l.map(x, x + 'a').exists(y, y == self.u)
self.l.map(x, x == 'a', x + 'bb').exists(y, y == self.u)
self.l.filter(x, x == 'a').size() > 1
self.l.filter(x, x == 'a')[0] == self.u
self.l.filter(x, x == 'a').all(y, y == self.u)
self.l.map(x, size(x)).all(y, y > 1)
self.l.map(x, [x, x]).all(y, y[0] == self.u)
self.m.map(k, k).all(y, y == self.u)
self.m.map(k, self.m[k]).all(y, y == self.u)
self.m.filter(k, k == 'a').size() > 0
self.lo.filter(x, x.a == 'a').map(x, x.b).exists(y, y == self.u)
[1, 2, 3].all(x, x > 1)
['a', 'bb'].all(x, x == self.u)
['a', 'bb'].map(x, x + self.s).all(y, y == self.u)
[self.s, self.s2].all(x, x == self.u)
[self.o, self.o].all(x, x.b == self.u)
{'a': self.s2}.all(k, k == self.u)
{'a': self.s2}.all(k, {'a': self.s2}[k] == self.u)
[[self.s2]].all(x, x[0] == self.u)
[[self.s2]].all(x, x.all(y, y == self.u))
(self.ok ? self.l : ['a']).all(x, x == self.u)
(self.l + self.l).all(x, x == self.u)
(self.l + ['abc']).all(x, x == self.u)
dyn(self.l).all(x, x == self.u)
self.is.all(x, x == 1)
self.l.all(x, self.ok ? x == 'a' : x == self.u)
self.l.all(i, x, x == self.u)
self.l.all(i, x, i < 5 && self.l[i] == self.u)
self.l.exists(i, x, x == self.u)
self.l.existsOne(i, x, x == self.u)
self.l.exists_one(i, x, x == self.u)
self.m.all(k, v, v == self.u)
self.m.all(k, v, k == self.u)
self.mu.all(k, v, v > 1)
self.mo.all(k, v, v.b == self.u)
self.mo.all(k, v, k == v.b)
self.loo.inner.map.all(k, v, k == self.u)
self.loo.inner.map.all(k, v, k == v.b)
self.loo.inner.list.all(i, v, v.a == v.b)
self.o.m.all(k, v, k == self.u)
self.o.m.all(k, v, v == self.u)
self.l.transformList(i, x, x + 'a').all(y, y == self.u)
self.l.transformList(i, x, i > 0, x + 'a').all(y, y == self.u)
self.m.transformList(k, v, k + v).all(y, y == self.u)
self.m.transformMap(k, v, v + 'a').all(k, k == self.u)
self.m.transformMap(k, v, v + 'a')['a'] == self.u
self.m.transformMap(k, v, k == 'a', v + 'a').exists(k, v, v == self.u)
self.l.transformMap(i, v, v + 'a')[0] == self.u
self.l.transformMapEntry(i, v, {v: i}).all(k, k == self.u)
self.l.transformMapEntry(i, v, i > 0, {v: 'a'}).size() > 0
"""

_FUNCTIONS = """
self.s.startsWith('abc')
self.s.startsWith(self.u)
self.u.endsWith(self.s)
self.u.contains('abc')
self.s.contains(self.s2)
self.u.contains(self.u)
self.s.matches('^[a-z]+$')
self.u.matches('^[a-z]+$')
self.s.matches(self.s2)
matches(self.u, '^[a-z]+$')
self.l.all(x, x.matches('^a*$'))
self.s.find('[a-z]+') == self.u
self.u.find('[a-z]+') == 'a'
self.s.find(self.s2) == self.u
self.s.findAll('[a-z]').all(x, x == self.u)
self.s.findAll('[a-z]', 3).all(x, x == 'a')
self.s.findAll('[a-z]')[0] == self.u
self.s.split(',').all(x, x == self.u)
self.s.split(',').all(x, x == 'abc')
self.s.split(',', 3).all(x, x == 'abc')
self.s.split(',', -1).size() > 1
self.s.split(',', self.n).all(x, x == 'abc')
self.u.split(',').size() > 1
self.s.split(',')[0] == self.u
self.l.join() == self.u
self.l.join(',') == self.u
self.l.join(self.s) == self.u
self.lu.join(self.u) == 'a'
self.s.split(',').join('-') == 'a'
self.l.map(x, x + 'a').join('-') == 'abc'
['a', 'b'].join(self.s) == self.u
self.s.replace('a', 'b') == self.u
self.s.replace('a', 'bcd') == self.u
self.s.replace('abc', 'd') == self.u
self.s.replace('', 'dd') == self.u
self.s.replace(self.e, self.s2) == self.u
self.s.replace('abc', self.s2) == self.u
self.s.replace('a', 'bb', 2) == self.u
self.s.replace(self.s2, 'a') == self.u
string(self.is).replace('a', 'bb') == self.u
string(self.is).replace('', 'bb') == self.u
self.s.lowerAscii() == self.u
self.s.upperAscii() == self.u
self.s.trim() == self.u
self.s.substring(1) == self.u
self.s.substring(1, 3) == self.u
self.s.charAt(1) == 'a'
self.s.charAt(1) == self.u
self.s.indexOf('a') > 1
self.s.indexOf('a', 2) > 1
self.u.lastIndexOf('abc') > 1
self.l.indexOf('a') > 1
self.l.lastIndexOf(self.s) > 1
self.ln.indexOf(1) > 1
'%s is %d'.format([self.s, self.n]) == self.u
'%s'.format([self.u]) == 'a'
self.l.map(x, '%s!'.format([x])).exists(y, y == self.u)
strings.quote(self.s) == self.u
strings.quote(string(self.is)) == self.u
self.l.isSorted()
self.lu.isSorted()
self.ln.isSorted()
self.lt.isSorted()
self.lby.isSorted()
self.ln.sum() > 1
self.lx.sum() > 1.0
self.ld.sum() > duration('1h')
self.l.max() == self.u
self.l.min() == self.u
self.ln.max() > 1
[1, 2].max() > 1
['a', self.s].max() == 'a'
self.l.map(x, size(x)).sum() > 1
self.l.map(x, x + 'a').isSorted()
sets.contains(self.l, ['a'])
sets.contains(self.l, self.lu)
sets.intersects(self.ln, self.ln)
sets.equivalent(self.l, self.l)
sets.equivalent(self.lo.map(x, x.a), ['a', 'b'])
self.l.slice(1, 3) == ['a']
self.l.slice(1, self.n).all(x, x == self.u)
self.l.slice(5, 3).all(x, x == self.u)
self.ll.flatten().all(x, x == self.u)
self.ll.flatten(2).size() > 1
self.ll.flatten(self.n).size() > 1
lists.range(10).all(x, x > 1)
lists.range(self.n).size() > 1
self.l.reverse()[0] == self.u
self.l.reverse().all(x, x == 'abc')
self.l.distinct().size() > 1
self.l.distinct().all(x, x == 'abc')
self.l.sort() == self.l
self.ln.sort()[0] > 1
self.lo.sortBy(x, x.a)[0].b == self.u
self.lo.sortBy(x, x.i).all(y, y.b == 'abc')
self.l.sortBy(x, size(x)).all(y, y == self.u)
self.l.first().hasValue()
self.l.last().orValue('a') == self.u
url(self.s).getHost() == self.u
url(self.s) == url(self.s2)
url(self.u).getScheme() == 'https' && isURL(self.u)
url(self.s).getQuery()['a'][0] == self.u
url(self.s).getPort() == '80' && url(self.s).getEscapedPath() == '/'
ip(self.s).family() == 4
ip(self.s) == ip(self.u)
ip(self.s) != ip(self.u)
isIP(self.u)
ip.isCanonical(self.u)
ip(self.s).isLoopback() || ip(self.s).isGlobalUnicast()
string(ip(self.s)) == self.u
cidr(self.s).containsIP(self.s)
cidr(self.s).containsIP(ip(self.s))
cidr(self.s).containsCIDR(self.u)
cidr(self.s).containsCIDR(cidr(self.u))
cidr(self.s).ip().family() == 4
cidr(self.s) == cidr(self.u)
cidr(self.s).masked().prefixLength() == 24
isCIDR(self.s)
string(cidr(self.s)) == self.u
quantity(self.s).isGreaterThan(quantity('1Gi'))
quantity(self.s) == quantity(self.u)
quantity(self.s) != quantity(self.u)
isQuantity(self.u)
quantity(self.s).add(quantity('1')).sub(1).compareTo(quantity(self.s)) == 0
quantity(self.s).isInteger() && quantity(self.s).asInteger() > 1 && sign(quantity(self.s)) > 0
quantity(self.s).asApproximateFloat() > 1.5
semver(self.sem).isGreaterThan(semver('1.0.0'))
semver(self.sem) == semver(self.u)
isSemver(self.sem) && semver(self.sem).major() > 1
semver(self.sem, true).minor() == semver(self.sem).patch()
format.dns1123Label().validate(self.s).hasValue()
!format.uuid().validate(self.u).hasValue()
format.named(self.s).hasValue()
format.dns1123Label() == format.uri()
format.named('uuid').value().validate(self.s) == optional.none()
self.d > duration('1h')
self.d == duration('1h')
self.d == self.d
self.t == self.t
self.t == timestamp('2020-01-01T00:00:00Z')
self.t > timestamp('2020-01-01T00:00:00Z')
self.t - self.t > duration('1h')
self.t + self.d > self.t
self.t2.getFullYear() > 2000
self.t.getHours('Europe/Berlin') > 2
duration(self.s) > duration('1h')
timestamp(self.u) > self.t
string(self.t) == self.u
string(self.d) == 'a'
string(self.n) == self.u
string(self.s) == self.u
string(self.by) == self.u
string(self.byu) == self.u
bytes(self.s) == self.byu
bytes(self.u) == self.byu
bytes(string(self.is)) == self.byu
int(self.s) > 1
double(self.u) > 1.0
bool(self.s)
uint(self.n) == 1u
self.by.size() > 1
self.?s.hasValue()
self.?s.orValue('a') == self.u
self.?s.value() == self.u
self.?o.a.orValue('a') == self.u
self.?o.?a.orValue('a') == self.u
self.?o.b.value() == self.u
self.m[?'a'].orValue('b') == self.u
self.l[?0].orValue('b') == self.u
self.?n.orValue(1) == 1
self.?n == optional.of(1)
self.?s == optional.of('a')
self.?s.optMap(x, x + 'a').orValue('b') == self.u
self.?s.optMap(x, x == self.u).orValue(false)
self.?o.optMap(x, x.b).orValue('b') == self.u
self.?o.optFlatMap(x, x.?b).orValue('b') == self.u
self.?o.optFlatMap(x, x.?b).optMap(y, y == self.u).orValue(true)
self.?l.orValue([]).all(x, x == self.u)
self.?l.value().all(x, x == 'abc')
self.?l[0].orValue('a') == self.u
optional.of(self.s).value() == self.u
optional.ofNonZeroValue(self.s).orValue('abcdef') == self.u
[?self.?s, ?self.?s2][0] == self.u
{?'a': self.?s}['a'] == self.u
optional.of(self.l).value().all(x, x == 'abcdef')
[optional.of(1), optional.of(2)].unwrapOpt().all(x, x > 1)
"""

EXPRESSIONS = [line for text in (_PLAIN, _LOOPS, _FUNCTIONS) for line in text.split("\n") if line]


def _ruled(schema: Json, *rules: str | Json) -> Json:
    told = [{"rule": each} if isinstance(each, str) else each for each in rules]
    return {**schema, "x-kubernetes-validations": told}


def _defined(**properties: Json) -> Json:
    return definition("Weighed", spec(**properties))


def _root(*rules: str | Json, **properties: Json) -> Json:
    return definition("Weighed", _ruled(_object(spec=_object(**properties)), *rules))


_DEAR = "self.all(x, self.all(y, x == y))"
_LISTS = {f"l{count}": _ruled(_list(_NUMBER, count), _DEAR) for count in (1300, 1340, 1400, 1500)}
_SAID = {"rule": "self.size() < 5", "messageExpression": "self.map(x, x + 'a').join(',')"}
_NEEDED = {**_PART, "required": ["a", "i"]}
_TIED: Json = {
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["a"],
}

DEFINITIONS: list[Json] = [
    # One after the other and all together
    _defined(a=_ruled(_list(_NUMBER, 2000), _DEAR)),
    _defined(a=_ruled(_list(_text()), _DEAR)),
    _defined(a=_ruled(_list(_NUMBER, 6000), _DEAR)),
    _defined(**_LISTS),
    _defined(**{f"p{n}": _ruled(_list(_NUMBER, 1200 + n), _DEAR) for n in range(15)}),
    _defined(**{f"p{n}": _ruled(_list(_NUMBER, 1000 + n), _DEAR) for n in range(30)}),
    _defined(**{f"p{n}": _ruled(_list(_NUMBER, 330), _DEAR) for n in range(300)}),
    _defined(a=_ruled(_list(_NUMBER, 5000), _DEAR, _DEAR, "self.size() > 1", _DEAR)),
    _defined(a=_ruled(_list(_text()), _DEAR, "self.nonsense", "self.size()", _DEAR)),
    # Messages
    _defined(a=_ruled(_list(_text(10), 10), _SAID)),
    _defined(a=_ruled(_list(_text()), _SAID)),
    _defined(a=_ruled(_list(_text(1000), 15000), _SAID)),
    _defined(a=_list(_ruled(_list(_text(1000), 20000), _SAID))),
    _defined(a=_ruled(_list(_text()), {"rule": "self", "messageExpression": "self[0] + self[1]"})),
    _defined(a=_ruled(_list(_text()), {**_SAID, "messageExpression": "self.size()"})),
    _defined(a=_ruled(_text(), {"rule": "self != ''", "messageExpression": "self.nonsense"})),
    # How often a rule is asked
    _defined(a=_list(_ruled(_text(), "self.contains('abc')"))),
    _defined(a=_list(_ruled(_text(), "self.contains('abc')"), 100)),
    _defined(a=_list(_ruled(_text(100), "self.contains('abc')"), 100)),
    _defined(a=_list(_ruled(_text(), "self.size() < 5"))),
    _defined(a=_map(_ruled(_text(), "self.size() < 5"))),
    _defined(a=_map(_ruled(_text(100), "self.contains('abcdef')"), 100000)),
    _defined(a=_list(_list(_ruled(_NUMBER, "self > 1"), 2000), 3000)),
    _defined(a=_list(_list(_ruled(_NUMBER, "self > 1"), 2000))),
    _defined(a=_list(_map(_ruled(_NUMBER, "self > 1 && self < 10"), 3000), 2000)),
    _defined(a=_list(_ruled(_NEEDED, "self.a == 'a' && self.i > 1 && self.b == 'b'"))),
    _defined(a=_list(_ruled(_PART, "self.a == 'a' && self.i > 1 && self.b == 'b'"))),
    _defined(a=_list(_ruled(_text(format="date-time"), *["self > self || self < self"] * 3))),
    _defined(a=_list(_ruled(_text(format="date"), *["self > self || self < self"] * 3))),
    _defined(a=_list(_ruled(_text(format="duration"), *["self > self || self < self"] * 3))),
    _defined(a=_list(_ruled({"type": "boolean"}, *["self || !self || self || !self"] * 2))),
    _defined(a=_list(_object(b=_ruled(_object(c=_NUMBER), "self.c > 1 && self.c < 5")), 2000000)),
    _defined(a=_list(_ruled(_list(_NUMBER), "self.all(x, x > 1)"), 0)),
    _defined(a=_ruled(_list(_NUMBER, 0), _DEAR)),
    _defined(
        a=_list(
            _ruled({"x-kubernetes-int-or-string": True}, "type(self) == int || self == '10%'"),
        )
    ),
    # The whole object, and parts that are whole
    _root("self.metadata.name == self.spec.a", a=_text()),
    _root("self.metadata.name.contains(self.spec.a)", a=_text()),
    _root("self.kind.contains(self.apiVersion)", a=_text()),
    _root("self.spec.a.all(x, self.spec.a.all(y, x == y))", a=_list(_text())),
    _defined(
        a=_list(
            _ruled(
                {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    **{"x-kubernetes-preserve-unknown-fields": True},
                },
                "self.metadata.name.contains(self.kind)",
            ),
            10,
        )
    ),
    # Values from before
    _defined(a=_ruled(_list(_text()), "self == oldSelf", "self.all(x, x in oldSelf)")),
    _defined(a=_ruled(_text(), "self.contains(oldSelf)")),
    _defined(
        a=_ruled(_text(), {"rule": "self.contains(oldSelf.value())", "optionalOldSelf": True})
    ),
    _defined(a=_ruled(_text(9), {"rule": "oldSelf.orValue('') == self", "optionalOldSelf": True})),
    _defined(
        a=_ruled(
            _list(_NUMBER),
            {
                "rule": "oldSelf.optMap(o, o.all(x, x in self)).orValue(true)",
                "optionalOldSelf": True,
            },
        )
    ),
    _defined(a=_list(_ruled(_NEEDED, "self.b.contains(oldSelf.b)"), **_TIED)),
    _defined(a=_list(_ruled(_text(), "self.contains(oldSelf)"))),
    # Sizes by other words
    _defined(a=_ruled(_text(enum=["a" * 5000, "b"]), "self.contains(self)")),
    _defined(a=_ruled(_text(enum=["ä" * 5000, "b"]), "self.contains(self)")),
    _defined(a=_ruled(_text(40000, enum=["a", "b"]), "self.contains(self)")),
    _defined(a=_ruled(_text(8000), "self.contains(self)")),
    _defined(a=_ruled(_text(100000, format="byte"), "string(self).contains(string(self))")),
    _defined(a=_ruled(_text(8000, format="uuid"), "self.contains(self)")),
    _defined(a=_ruled(_text(8000, pattern="^a$"), "self.contains(self)")),
]
