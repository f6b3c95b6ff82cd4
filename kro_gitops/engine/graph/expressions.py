"""
An expression between text and program.

A `Draft` knows the position of its text in the definition, so every fault becomes a `Problem` with
a position. For string templates the CEL text is a concatenation that the author did not write;
offsets in it are mapped back to the pieces that the author wrote.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from kro_gitops.engine.graph.confidential import without
from kro_gitops.engine.graph.nodes import Expression
from kube_cel.checker import check
from kube_cel.environment import Environment
from kube_cel.errors import BuildError
from kube_cel.interpolation import NestedExpression, Template, concatenation, locate, scan
from kube_cel.issues import CheckError, ParseError
from kube_cel.parser import parse
from kube_cel.program import Program, compile_program
from kube_cel.references import TYPE_NAMES, References, find_references
from kube_cel.syntax_tree import Node as Tree
from kube_cel.types import Type
from kube_objects.problems import Path, Problem, Spot

INVALID_REGEX = "invalid-regex"
# Definitions repeat each other's expressions. What a text refers to does not depend on the
# definition, and a program only on the types of the variables that it reads.
_MAX_SHARED = 4096
_REFERENCES: dict[str, References] = {}
_PROGRAMS: dict[tuple[str, Hashable], Program] = {}
ONLY_STANDALONE = "only standalone expressions are allowed"


def _share(shared: dict[Any, Any], key: Hashable, value: object) -> None:
    if len(shared) >= _MAX_SHARED:
        shared.clear()
    shared[key] = value


@dataclass(slots=True)
class Draft:
    """
    One expression; `place` is the path of its string in the definition.

    `tree`, `references` and `program` are filled in step by step. After a fault that would make
    later steps complain again, `is_faulty` is set and they pass it by. `literals` are texts of the
    template that no message may contain, because they are values of a Secret.
    """

    template: Template
    place: Path
    source: str
    text: str = field(init=False)
    tree: Tree | None = field(default=None, init=False)
    references: References | None = field(default=None, init=False)
    program: Program | None = field(default=None, init=False)
    environment: Environment | None = field(default=None, init=False)
    is_faulty: bool = field(default=False, init=False)
    is_confidential: bool = field(default=False, init=False)
    literals: tuple[str, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        if self.template.is_standalone:
            self.text = self.template.expressions[0].text
        else:
            self.text = concatenation(self.template)

    @property
    def shown(self) -> str:
        """Return what messages quote: the template as written, or the bare expression."""
        return without(self.text if self.template.is_standalone else self.source, self.literals)

    @property
    def type(self) -> Type:
        """Return the type of the compiled program."""
        assert self.program is not None
        return self.program.type

    def spot(self, start: int = 0, end: int | None = None) -> Spot:
        """Turn offsets in the CEL text into a spot in the author's string."""
        if end is None:
            end = len(self.text)
        first = locate(self.template, start)
        last = locate(self.template, max(start, end - 1)) + 1 if end > start else first
        return Spot(self.place, first, max(first, last))

    def name_spot(self, name: str) -> Spot:
        """Return where an identifier or an unknown function is used first."""
        assert self.references is not None
        spans = {**self.references.function_spans, **self.references.spans}
        span = spans.get(name)
        return self.spot() if span is None else self.spot(span.start, span.end)

    def inspect(self, known: Iterable[str], environment: Environment) -> None:
        """Parse the text and list what it refers to. Raises `ParseError`."""
        names = frozenset(known)
        shared = _REFERENCES.get(self.text)
        if shared is not None and names.issuperset(shared.identifiers):
            self.references = shared
            return
        self.tree = parse(self.text)
        self.references = find_references(self.tree, names, environment.functions)
        is_general = not self.references.unknown and not self.references.unknown_functions
        if is_general and names.isdisjoint(TYPE_NAMES):
            _share(_REFERENCES, self.text, self.references)

    def compile(self, environment: Environment) -> Program:
        """Check the tree and make the program. Raises `CheckError` or `BuildError`."""
        assert self.references is not None
        key = (self.text, environment.types_of(self.references.identifiers))
        program = _PROGRAMS.get(key)
        if program is None:
            # The checker writes types into the tree, so each environment gets a fresh one.
            is_fresh = self.tree is not None and self.tree.type is None
            tree = self.tree if self.tree is not None and is_fresh else parse(self.text)
            check(tree, environment, self.text)
            program = compile_program(tree, environment, self.text)
            _share(_PROGRAMS, key, program)
        self.program = program
        self.environment = environment
        return program

    def finish(self) -> Expression:
        """Freeze a draft that has been through all steps."""
        assert self.references is not None
        assert self.program is not None
        assert self.environment is not None
        return Expression(
            text=self.text,
            shown=self.shown,
            place=self.place,
            template=self.template,
            names=self.references.identifiers,
            reads=self.references.paths,
            program=self.program,
            environment=self.environment,
            uses_omit=self.references.uses_omit,
            is_confidential=self.is_confidential,
        )

    def issue_problems(
        self, error: ParseError | CheckError | BuildError, prefix: str
    ) -> list[Problem]:
        """Return a problem for each issue of an error; all quote the error's whole text."""
        said = without(error.message, self.literals)
        if isinstance(error, BuildError):
            return [Problem(INVALID_REGEX, said, self.spot(), f"{prefix}compile: {said}")]
        message = f"{prefix}{said}"
        # Syntax errors after the first one are mostly consequences of it.
        issues = error.issues[:1] if isinstance(error, ParseError) else error.issues
        hint = ""
        cut = any(piece.text.count("'") % 2 for piece in self.template.expressions)
        if cut and isinstance(error, ParseError):
            hint = "single quotes do not protect braces in ${…}: write that string in double quotes"
        return [
            Problem(
                code=issue.code or error.code,
                summary=without(issue.message, self.literals),
                spot=self.spot(max(issue.start, 0), max(issue.end, 0)),
                message=message,
                hint=hint or without(issue.hint, self.literals),
            )
            for issue in issues
        ]


def standalone_drafts(
    texts: Iterable[tuple[Path, str]], prefix: str
) -> tuple[list[Draft], list[Problem]]:
    """Scan strings that must each be one expression and nothing else."""
    drafts: list[Draft] = []
    problems: list[Problem] = []
    for place, text in texts:
        try:
            template = scan(text)
        except NestedExpression as error:
            spot = Spot(place, error.offset, error.offset + 2)
            problems.append(
                Problem("nested-expression", error.message, spot, prefix + error.message)
            )
            continue
        if template.is_standalone:
            drafts.append(Draft(template, place, text))
            continue
        if template.is_literal:
            hint = f"write ${{{text.strip()}}}" if text.strip() else "write ${…}"
        elif text.endswith("\n"):
            hint = "the text ends in a newline: start the block with '|-' or '>-'"
        else:
            hint = "write one ${…} and nothing before or after it"
        problems.append(
            Problem(
                "not-standalone", ONLY_STANDALONE, Spot(place), prefix + ONLY_STANDALONE, hint=hint
            )
        )
    return drafts, problems
