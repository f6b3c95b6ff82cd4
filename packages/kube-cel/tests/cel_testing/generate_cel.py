"""
Many CEL expressions for the oracle: ``python -m cel_testing.generate_cel --seed 1
--count 4000 | oracle cel``, run in the folder of the tests.

Four kinds, all from one seed, so that a run can be repeated: soups of tokens, well-typed
expressions (``cel_grammar``), known expressions with a few tokens changed, and inputs that
are nasty by themselves. The sets of variables they run in, and the expressions that get
changed, come from files in the oracle's own format.
"""

import argparse
import json
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cel_testing.cel_grammar import LEAVES, Grammar, scope_of

Line = dict[str, Any]

_GOLDEN = Path(__file__).parents[1] / "golden"
KNOWN = (_GOLDEN / "cel-more.jsonl", _GOLDEN / "cel.jsonl")

_TOKEN = re.compile(r"""[a-zA-Z_]\w*|\d+(?:\.\d+)?u?|"[^"]*"|'[^']*'|&&|\|\||[=!<>]=|\s+|.""", re.S)

_SOUP_TEXT = """
+ - * / % && || == != < <= > >= in ! ? : ( ) [ ] { } , . .? [? ?
true false null 0 1 -1 2u 1.5 0x1f 1e3 'a' "b" b'c' r'd' '' 'é😀' x y e
size has all exists map filter string int double type dyn optional cel bind json
for in as if schema runtime omit duration timestamp // `a-b` \\ # $ ; @ é
"""
SOUP = (*_SOUP_TEXT.split(), "\t", "\n")

NASTY = (
    *Path(__file__).with_name("cel_nasty.txt").read_text(encoding="utf-8").splitlines(),
    *("", " ", "\n", "\u200bx", "x\u00a0+ 1", "\ufeff1", "'\x00'", "'\x7f'", "'\u2028'"),
    *("9" * 40, "9" * 40 + "u", "'" + "a" * 2000 + "'", "a" * 300, "1 in " * 20 + "[1]"),
    *("(" * 60 + "1" + ")" * 60, "[" * 200 + "]" * 200, "-" * 101 + "1", "!" * 251 + "true"),
    *("1" + " + 1" * 200, "x" + ".s" * 100, "[1]" + "[0]" * 30, "true ? 1 : " * 60 + "2"),
    *("f(" * 40, "{'a': " * 60 + "1" + "}" * 60),
)

# Tokens that may stand for each other.
LIKE = (
    ("+", "-", "*", "/", "%"),
    ("==", "!=", "<", "<=", ">", ">="),
    ("&&", "||"),
    ("true", "false", "null"),
)

# Functions that allocate as much as they are told to: only small literal sizes are let through.
_ALLOCATING = re.compile(r"(?:lists\.range|seededString)\((?!\s*-?\d{1,4}\s*[,)])")


@dataclass(frozen=True, slots=True)
class Source:
    """One set: the line that opens it and the known expressions that ran in it."""

    opening: Line
    expressions: tuple[str, ...]


def read_sources(paths: Sequence[Path]) -> dict[str, Source]:
    """Read openings and expressions; a set met again is the same set."""
    openings: dict[str, Line] = {}
    expressions: dict[str, list[str]] = {}
    for path in paths:
        # Not splitlines(): a string in a line may hold other line separators.
        for text in filter(None, path.read_text(encoding="utf-8").split("\n")):
            line = json.loads(text)
            name = line["set"]
            if "expr" in line:
                expressions.setdefault(name, []).append(line["expr"])
            else:
                openings[name] = line
    return {
        name: Source(opening, tuple(expressions.get(name, ())))
        for name, opening in openings.items()
    }


def _names_in(expressions: Sequence[str]) -> list[str]:
    """List the words of the known expressions: variables, fields and functions."""
    return sorted({word for text in expressions for word in re.findall(r"[a-zA-Z]\w*", text)})


class Generator:
    """Expressions for one set."""

    def __init__(self, rng: random.Random, source: Source) -> None:
        self._rng = rng
        self._source = source
        scope = scope_of(source.opening["schemas"])
        self._grammar = Grammar(rng, scope)
        self._names = _names_in(source.expressions)
        self._words = [*SOUP, *(path for paths in scope.values() for path in paths)]
        self._nasty = iter(rng.sample(NASTY, len(NASTY)))
        # Mostly well-typed: what authors write is, and errors come of themselves.
        self._kinds: tuple[tuple[Callable[[], str], int], ...] = (
            (self.typed, 70),
            (self.mutated, 23),
            (self.soup, 4),
            (self.nasty, 3),
        )

    def any(self) -> str:
        """Make an expression of a random kind."""
        kinds, weights = zip(*self._kinds, strict=True)
        kind: Callable[[], str] = self._rng.choices(kinds, weights)[0]
        return kind()

    def typed(self) -> str:
        """Make a well-typed expression."""
        return self._grammar.expression(self._rng.randint(1, 4))

    def soup(self) -> str:
        """Make a soup of tokens."""
        glue = self._rng.choice(("", " "))
        return glue.join(self._rng.choices(self._words, k=self._rng.randint(1, 12)))

    def mutated(self) -> str:
        """Change one to three tokens of a known expression."""
        known = self._rng.choice(self._source.expressions)
        tokens = _TOKEN.findall(known) or [""]
        for _ in range(self._rng.randint(1, 3)):
            self._change(tokens)
        return "".join(tokens)

    def nasty(self) -> str:
        """Take the next nasty input; when all are used up, a soup."""
        found = next(self._nasty, None)
        return self.soup() if found is None else found

    def _change(self, tokens: list[str]) -> None:
        if not tokens:
            tokens.append(self._rng.choice(self._words))
            return
        at, other = self._rng.randrange(len(tokens)), self._rng.randrange(len(tokens))
        kind = self._rng.randrange(8)
        if kind == 0:
            del tokens[at]
        elif kind == 1:
            tokens.insert(at, self._rng.choice(self._words))
        elif kind == 2:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        else:
            tokens[at] = self._like(tokens[at])

    def _like(self, token: str) -> str:
        """Choose a token of the same kind, so that most changed expressions still parse."""
        for kind in LIKE:
            if token in kind:
                return self._rng.choice(kind)
        if token[:1].isalpha() and self._names:
            return self._rng.choice(self._names)
        if token.startswith((*"0123456789'\"",)):
            return self._rng.choice(LEAVES[self._rng.choice(("int", "double", "string", "uint"))])
        return token


def generate(sources: dict[str, Source], seed: int, count: int) -> Iterator[Line]:
    """Yield openings and, below each, its share of ``count`` distinct expressions."""
    rng = random.Random(seed)
    for position, (name, source) in enumerate(sources.items()):
        share = count * (position + 1) // len(sources) - count * position // len(sources)
        yield source.opening
        generator = Generator(rng, source)
        seen: set[str] = set(source.expressions)
        made = 0
        while made < share:
            expression = generator.any()
            if expression in seen or _ALLOCATING.search(expression):
                continue
            seen.add(expression)
            made += 1
            yield {"set": name, "expr": expression}


def main() -> int:
    """Write the lines for ``oracle cel`` to standard output."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0].strip())
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("--known", type=Path, nargs="+", default=KNOWN, metavar="FILE")
    options = parser.parse_args()
    for line in generate(read_sources(options.known), options.seed, options.count):
        sys.stdout.write(json.dumps(line, ensure_ascii=False, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
