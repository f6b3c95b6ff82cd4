"""
Write the tables of functions in docs/reference/cel.md.

Signatures come from the engine's overload tables, values from evaluating the examples in
`cel_examples.txt`. A function without an example, or an example without a function, is an error, so
the page cannot miss one.

    python -m tools.update_cel_docs           rewrite the page
    python -m tools.update_cel_docs --check   exit with 1 if it is not current
"""

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kube_cel.environment import Environment
from kube_cel.program import compile_text
from kube_cel.signatures import KRO_TABLES, Overload, read_tables
from kube_cel.types import PRIMITIVES, Type, format_for_message
from kube_cel.values import OMIT, RUNTIME

EXAMPLES = Path(__file__).with_name("cel_examples.txt")
PAGE = Path(__file__).parents[1] / "docs" / "reference" / "cel.md"
BEGIN = "<!-- functions: begin, written by tools/update_cel_docs.py -->\n"
END = "<!-- functions: end -->\n"

MACROS = "Macros"

# The parts of the engine's table of Kubernetes functions, in its order.
_KUBERNETES = (
    *("Lists of Kubernetes", "Regular expressions", "URLs", "Quantities"),
    *("IP addresses", "Networks", "Versions"),
)
_OPERATOR_PATTERNS = {"@in": "_ in _"}
_CLOSE_OPERATORS = frozenset((".?", "[", "]", "[?"))
_FAMILY = 3  # so many overloads that differ in one type are shown as one

_LINE = re.compile(r"(?P<name>\S+\(.*?\)|\S+)  +(?P<expression>\S.*?) +# (?P<description>.+)")


@dataclass(frozen=True, slots=True)
class Example:
    """One line of the examples."""

    name: str
    expression: str
    description: str


def read_examples(text: str) -> dict[str, list[Example]]:
    """Read the examples by section."""
    found: dict[str, list[Example]] = {}
    section: list[Example] = []
    for line in text.splitlines():
        if line.startswith("["):
            section = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            matched = _LINE.fullmatch(line)
            if matched is None:
                raise SystemExit(f"{EXAMPLES.name}: not an example: {line}")
            section.append(Example(*matched.group("name", "expression", "description")))
    return found


def signature_tables() -> Iterator[tuple[str, str]]:
    """Give the engine's overload tables with the sections they belong to."""
    # If a table is added there, this fails, and somebody gives it a place here.
    operators, conversions, standard, times, optionals, strings, *rest = KRO_TABLES
    lists, more_strings, encoders, kubernetes, kro = rest
    yield "Operators", operators
    yield "Conversions", conversions
    yield "Standard functions", standard
    yield "Times", times
    yield "Optionals", optionals
    yield "Strings", strings + more_strings
    yield "Lists", lists
    yield "Encoders", encoders
    yield from zip(_KUBERNETES, kubernetes.split("\n\n"), strict=True)
    yield "kro", kro


def render() -> str:
    """Write all tables."""
    examples = read_examples(EXAMPLES.read_text(encoding="utf-8"))
    parts = [_table(MACROS, [(_code(one.name), one) for one in examples[MACROS]])]
    for title, table in signature_tables():
        functions = read_tables((table,))
        shown = {name for name in functions if "@" not in name or name in _OPERATOR_PATTERNS}
        named = {one.name for one in examples[title]}
        if shown != named:
            raise SystemExit(f"{title}: {', '.join(sorted(shown ^ named))} in one place only")
        rows = [
            ("<br>".join(_signatures(one.name, functions[one.name])), one)
            for one in examples[title]
        ]
        parts.append(_table(title, rows))
    return "\n".join(parts)


def _table(title: str, rows: list[tuple[str, Example]]) -> str:
    lines = [f"### {title}", "", "| | example | |", "|---|---|---|"]
    lines += [f"| {how} | {_result(one.expression)} | {one.description} |" for how, one in rows]
    return "\n".join(lines) + "\n"


def _result(expression: str) -> str:
    value = compile_text(expression, Environment.kro()).evaluate({"runtime": RUNTIME})
    if value is OMIT:
        return _code(expression)
    return f"{_code(expression)} → {_code(json.dumps(value, ensure_ascii=False))}"


def _code(text: str) -> str:
    return "`" + text.replace("|", r"\|") + "`"


def _signatures(name: str, overloads: Sequence[Overload]) -> Iterator[str]:
    """Print overloads; those that differ in one type only become one line."""
    families = _families(overloads)
    done: set[Overload] = set()
    for one in overloads:
        shape, members = max(families[one], key=lambda family: len(family[1]))
        if len(members) < _FAMILY:
            yield _code(_signature(name, one))
        elif one not in done:
            done.update(members.values())
            yield f"{_code(_signature(name, shape))} for T in {', '.join(members)}"


_Family = tuple[Overload, dict[str, Overload]]


def _families(overloads: Sequence[Overload]) -> Mapping[Overload, list[_Family]]:
    """Find what each overload looks like with one of its types called T, and who looks the same."""
    members: dict[Overload, dict[str, Overload]] = {}
    found: dict[Overload, list[_Family]] = {}
    for one in overloads:
        found[one] = [(one, {})]
        for primitive in PRIMITIVES.values():
            for shape in _shapes(one, primitive):
                alike = members.setdefault(shape, {})
                alike[format_for_message(primitive)] = one
                found[one].append((shape, alike))
    return found


def _shapes(one: Overload, primitive: Type) -> Iterator[Overload]:
    """Call a type T, in the parameters alone and in the result too: `bool < bool` gives bool."""
    parameters = tuple(_replaced(parameter, primitive) for parameter in one.parameters)
    if parameters != one.parameters:
        for result in dict.fromkeys((one.result, _replaced(one.result, primitive))):
            yield Overload(one.function, one.is_member, parameters, result)


def _replaced(where: Type, primitive: Type) -> Type:
    if where == primitive:
        return Type("object", (), "T")
    inner = tuple(_replaced(parameter, primitive) for parameter in where.parameters)
    return Type(where.kind, inner, where.name)


def _signature(name: str, one: Overload) -> str:
    shown = [format_for_message(parameter) for parameter in one.parameters]
    result = format_for_message(one.result)
    pattern = _OPERATOR_PATTERNS.get(name, name)
    if "_" in pattern:
        return f"{_operation(pattern, shown)} → {result}"
    receiver = f"{shown.pop(0)}." if one.is_member else ""
    return f"{receiver}{name}({', '.join(shown)}) → {result}"


def _operation(pattern: str, operands: list[str]) -> str:
    """Put operands where an operator's name has its underscores: `_+_` is `int + int`."""
    if pattern == "_?._":
        operands = [operands[0], "field"]
        pattern = "_.?_"
    head, *symbols = pattern.split("_")
    spaced = (s if s in _CLOSE_OPERATORS else f" {s.strip()} " for s in symbols)
    return (head + "".join(a + b for a, b in zip(operands, spaced, strict=True))).strip()


def updated(page: str) -> str:
    """Return the page with its tables written anew."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{render()}\n{END}{after}"


def main() -> int:
    """Rewrite the page, or say whether that is needed."""
    parser = argparse.ArgumentParser(description="Write the tables of functions in the CEL page.")
    parser.add_argument("--check", action="store_true", help="only say whether the page is current")
    arguments = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    current = updated(page)
    if arguments.check:
        return int(page != current)
    PAGE.write_text(current, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
