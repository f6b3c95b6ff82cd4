"""
An expression on its way from text to program.

A `Draft` knows where its text stands in the definition, so every fault found on the way becomes
a `Problem` with a spot: for string templates the CEL text is a concatenation the author
never wrote, and offsets are led back to the pieces they did write.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from kro_gitops.engine.graph.nodes import Expression
from kube_cel.checker import check
from kube_cel.environment import Environment
from kube_cel.errors import BuildError
from kube_cel.interpolation import NestedExpression, Template, concatenation, locate, scan
from kube_cel.issues import CheckError, Issue, ParseError
from kube_cel.parser import parse
from kube_cel.program import Program, compile_program
from kube_cel.references import References, find_references
from kube_cel.syntax_tree import Node as Tree
from kube_cel.types import Type
from kube_objects.problems import Path, Problem, Spot

INVALID_REGEX = "invalid-regex"
ONLY_STANDALONE = "only standalone expressions are allowed"


@dataclass(slots=True)
class Draft:
    """
    One expression; `place` is the path of its string in the definition.

    `tree`, `references` and `program` are filled in step by step. After a fault that would make
    later steps complain again, `is_faulty` is set and they pass it by.
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

    def __post_init__(self) -> None:
        if self.template.is_standalone:
            self.text = self.template.expressions[0].text
        else:
            self.text = concatenation(self.template)

    @property
    def shown(self) -> str:
        """Return what messages quote: the template as written, or the bare expression."""
        return self.text if self.template.is_standalone else self.source

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
        self.tree = parse(self.text)
        self.references = find_references(self.tree, frozenset(known), environment.functions)

    def compile(self, environment: Environment) -> Program:
        """Check the tree and make the program. Raises `CheckError` or `BuildError`."""
        # The checker writes types into the tree, so each environment gets a fresh one.
        tree = self.tree if self.tree is not None and self.tree.type is None else parse(self.text)
        check(tree, environment, self.text)
        self.program = compile_program(tree, environment, self.text)
        self.environment = environment
        return self.program

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
        )

    def issue_problems(
        self, error: ParseError | CheckError | BuildError, prefix: str
    ) -> list[Problem]:
        """Make problems of what an error carries; all quote the error's whole text."""
        if isinstance(error, BuildError):
            message = f"{prefix}compile: {error.message}"
            return [Problem(INVALID_REGEX, error.message, self.spot(), message)]
        message = f"{prefix}{error.message}"
        # After the first place where a text stops making sense, the others are mostly echoes.
        issues = error.issues[:1] if isinstance(error, ParseError) else error.issues
        return [self._issue_problem(error, issue, message) for issue in issues]

    def _issue_problem(self, error: ParseError | CheckError, issue: Issue, message: str) -> Problem:
        return Problem(
            code=issue.code or error.code,
            summary=issue.message,
            spot=self.spot(max(issue.start, 0), max(issue.end, 0)),
            message=message,
            hint=self._brace_hint(error) or issue.hint,
        )

    def _brace_hint(self, error: ParseError | CheckError) -> str:
        """Explain a text that was cut at a brace which its author thought was protected."""
        cut = any(piece.text.count("'") % 2 for piece in self.template.expressions)
        if not cut or not isinstance(error, ParseError):
            return ""
        return "single quotes do not protect braces in ${…}: write that string in double quotes"


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
        else:
            problems.append(
                Problem(
                    "not-standalone",
                    ONLY_STANDALONE,
                    Spot(place),
                    prefix + ONLY_STANDALONE,
                    hint=_standalone_hint(template, text),
                )
            )
    return drafts, problems


def _standalone_hint(template: Template, text: str) -> str:
    if template.is_literal:
        return f"write ${{{text.strip()}}}" if text.strip() else "write ${…}"
    if text.endswith("\n"):
        return "the text ends in a newline: start the block with '|-' or '>-'"
    return "write one ${…} and nothing before or after it"
