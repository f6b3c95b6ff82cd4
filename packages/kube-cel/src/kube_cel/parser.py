"""
From text to tree.

The grammar, the limits and the positions are cel-go's; its rules, loosest first:

    expression = chain [ "?" chain ":" expression ]
    chain      = operand { operator operand }         || && relations + - * / %
    operand    = { "!" } member | { "-" } member
    member     = primary { .name | .?name | .name(…) | [index] | [?index] }
    primary    = name | name(…) | literal | ( … ) | [ … ] | { … } | name{field: …}

Operators are put together by precedence with two stacks, not with a function a level: three
Python frames a bracket keep the 250 levels that are allowed within Python's own limit.

What cel-go finds while building its tree (reserved words, impossible numbers, misused macros)
is noted and parsing goes on; the tree is returned only if nothing was noted.
"""

from collections.abc import Callable, Mapping

from kube_cel import cursor as expect
from kube_cel.cursor import Cursor, ParseAborted, Repair
from kube_cel.issues import MAX_ISSUES, NO_OFFSET, Issue, ParseError
from kube_cel.lexer import (
    BYTES,
    DOUBLE,
    END,
    ESCAPED,
    IDENTIFIER,
    INT,
    STRING,
    UINT,
    InvalidLiteral,
    Tokens,
    literal_value,
    tokenize,
)
from kube_cel.macros import expand
from kube_cel.syntax_tree import (
    MAX_DEPTH,
    TOO_DEEP,
    TOO_NESTED,
    Call,
    Entry,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Message,
    Node,
    Select,
    depth,
)

MAX_EXPRESSION_LENGTH = 100_000

RESERVED = frozenset(
    (
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let"),
        *("loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
"""Words that are no names, though fields may be called so."""

# How tightly operators bind; what is not listed ends a chain.
_RELATION, _SUM = 3, 4
_PRECEDENCE = {
    **{"||": 1, "&&": 2},
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!=", "in"), _RELATION),
    **dict.fromkeys(("+", "-"), _SUM),
    **dict.fromkeys(("*", "/", "%"), 5),
}
_FUNCTIONS = {kind: "@in" if kind == "in" else f"_{kind}_" for kind in _PRECEDENCE}
_LOGICAL = ("||", "&&")
_PREFIXES = {"!": "!_", "-": "-_"}
_SUFFIXES = (".", "[", "{")
_NUMBERS = (INT, DOUBLE)


def parse(text: str) -> Node:
    """Parse an expression, or raise `ParseError` with everything found wrong."""
    size = len(text)
    if size > MAX_EXPRESSION_LENGTH:
        message = (
            f"expression code point size exceeds limit: size: {size}, limit {MAX_EXPRESSION_LENGTH}"
        )
        raise ParseError(text, [Issue(message, NO_OFFSET, 0, size)])
    tokens, issues = tokenize(text)
    if len(issues) <= MAX_ISSUES:
        tree = _Parser(text, tokens, issues).tree()
        if tree is not None and not issues:
            return tree
    raise ParseError(text, issues)


class _Parser(Cursor):
    """One pass over the tokens, from the first to the last."""

    __slots__ = ("arithmetics", "nesting", "relations")

    def __init__(self, text: str, tokens: Tokens, issues: list[Issue]) -> None:
        super().__init__(text, tokens, issues)
        # How deep the rules of cel-go's grammar that contain themselves are nested here.
        self.nesting = 0
        self.relations = 0
        self.arithmetics = 0

    def tree(self) -> Node | None:
        """Parse the whole text; None after a fatal issue. A tree may have `issues`, too."""
        try:
            tree = self._expression()
            self.take(END, expect.NOTHING)
            # A level needs at least a token, so most texts need not be measured.
            if len(self.kinds) > MAX_DEPTH and depth(tree) > MAX_DEPTH:
                self.note_everywhere(TOO_DEEP)
        except ParseAborted:
            return None
        except RecursionError:  # our caller has used up Python's stack, not the author
            self.issues.append(Issue(TOO_NESTED, NO_OFFSET, 0, len(self.text)))
            return None
        return tree

    # Expressions: operands and operators on two stacks.

    def _expression(self) -> Node:
        self.nesting += 1
        self.relations += 1
        self.arithmetics += 1
        self._check_nesting()
        operands: list[Node] = []
        operators: list[int] = []  # the places of their tokens
        while True:
            operands.append(self._operand())
            if not self._operator_follows(operators, operands):
                break
        self.nesting -= 1
        self.relations -= 1
        self.arithmetics -= 1
        return operands[0]

    def _operator_follows(self, operators: list[int], operands: list[Node]) -> bool:
        """Take the next operator, if there is one, after joining all that binds tighter."""
        kind = self.kinds[self.at]
        precedence = _PRECEDENCE.get(kind, 0)
        while operators:
            # Replace the last operator and its operands by their call, if it binds tighter. Equal
            # ones join from the left; chains of && and || wait, to be joined all at once.
            last = self.kinds[operators[-1]]
            waiting = _PRECEDENCE.get(last, 0)
            if waiting < precedence or (
                waiting == precedence and (precedence == 0 or kind in _LOGICAL)
            ):
                break
            if last in _LOGICAL:
                # Join a whole chain of && or || into a tree of logarithmic depth, as cel-go does.
                first = len(operators) - 1
                while first and self.kinds[operators[first - 1]] == last:
                    first -= 1
                chain = operators[first:]
                terms = operands[-len(chain) - 1 :]
                del operators[first:], operands[-len(chain) - 1 :]
                operands.append(self._balanced(chain, terms))
            else:
                self._count_operator(waiting, -1)
                right = operands.pop()
                operands[-1] = self._operation(operators.pop(), [operands[-1], right])
        if precedence:
            self._count_operator(precedence, 1)
            self._check_nesting()
        elif not self._continues_conditional(kind, operators, operands):
            return False
        operators.append(self.at)
        self.at += 1
        return True

    def _continues_conditional(self, kind: str, operators: list[int], operands: list[Node]) -> bool:
        """Return whether a `?` or `:` continues the expression; complete it otherwise."""
        if operators and self.kinds[operators[-1]] == "?":
            if kind != ":" and self.repair(expect.COLON) is not Repair.SKIP:
                raise ParseAborted
            self.nesting += 1
            self._check_nesting()
            return True
        if kind == "?":
            return True
        while operators:
            self.nesting -= 1
            operators.pop()  # the colon
            start = self.starts[operators.pop()]
            operands[-3:] = [Call(start, start, start + 1, None, "_?_:_", operands[-3:])]
        return False

    def _balanced(self, chain: list[int], terms: list[Node]) -> Node:
        if not chain:
            return terms[0]
        middle = len(chain) // 2
        left = self._balanced(chain[:middle], terms[: middle + 1])
        right = self._balanced(chain[middle + 1 :], terms[middle + 1 :])
        return self._operation(chain[middle], [left, right])

    def _operation(self, operator: int, operands: list[Node]) -> Call:
        start, kind = self.starts[operator], self.kinds[operator]
        return Call(start, start, start + len(kind), None, _FUNCTIONS[kind], operands)

    def _count_operator(self, precedence: int, step: int) -> None:
        if precedence == _RELATION:
            self.relations += step
        elif precedence >= _SUM:
            self.arithmetics += step

    def _check_nesting(self) -> None:
        if self.nesting > MAX_DEPTH or self.relations > MAX_DEPTH or self.arithmetics > MAX_DEPTH:
            self.note_everywhere(TOO_NESTED)
            raise ParseAborted

    # Operands.

    def _operand(self) -> Node:
        self.expect(expect.OPERAND)
        first, kinds = self.at, self.kinds
        prefix = self._prefix() if kinds[first] in _PREFIXES else ""
        begin = self.at
        name = begin + 1 if kinds[begin] == "." else begin
        is_call = kinds[name] == IDENTIFIER and kinds[name + 1] == "("
        node = self._call(None) if is_call else _PRIMARIES[kinds[begin]](self)
        while (kind := kinds[self.at]) in _SUFFIXES:
            if kind == ".":
                is_call = kinds[self.at + 2] == "(" and kinds[self.at + 1] == IDENTIFIER
                node = self._call(node) if is_call else self._select(node)
            elif kind == "[":
                bracket = self.starts[self.at]
                self.at += 1
                self.expect(expect.INDEX)
                function = "_[?_]" if self.skip("?") else "_[_]"
                index = self._expression()
                end = self.take("]", expect.BRACKET)
                node = Call(bracket, bracket, end, None, function, [node, index])
            else:
                # A `{` continues only a name, `a.b.C{…}` or `.a.b.C{…}`.
                words = kinds[name : self.at]
                if words != [IDENTIFIER, *([".", IDENTIFIER] * (len(words) // 2))]:
                    break
                node = self._message(begin)
        if not prefix:
            return node
        start = self.starts[first]
        return Call(start, start, start + 1, None, prefix, [node])

    def _prefix(self) -> str:
        """Pass a run of `!` or `-` and return its function, none if it cancels itself out."""
        first, kind = self.at, self.kinds[self.at]
        if kind == "-" and self.kinds[first + 1] in _NUMBERS:
            return ""  # the sign of a literal
        while self.kinds[self.at] == kind:
            self.at += 1
        if self.kinds[self.at] not in _PRIMARIES:
            self.abort(
                expect.extraneous(self.tokens, self.at, expect.OPERAND)
                if kind == "!"
                else expect.no_alternative(self.tokens, self.text, first, self.at)
            )
        return _PREFIXES[kind] if (self.at - first) % 2 else ""

    def _parenthesized(self) -> Node:
        self.at += 1
        node = self._expression()
        self.take(")", expect.PARENTHESIS)
        return node

    def _name(self) -> Node:
        """Read a name, or one with a leading dot."""
        start = self.starts[self.at]
        if self.kinds[self.at] == "." and self.kinds[self.at + 1] != IDENTIFIER:
            self.abort(expect.no_alternative(self.tokens, self.text, self.at, self.at + 1))
        absolute = self.skip(".")
        name, offset = self.texts[self.at], self.starts[self.at]
        self.at += 1
        end = offset + len(name)
        if name in RESERVED:
            return self._reserved(name, start, end)
        return Ident(offset, start, end, name, absolute)

    def _reserved(self, name: str, start: int, end: int) -> Node:
        return self.note(Issue(f"reserved identifier: {name}", start, start, end))

    def _literal(self) -> Node:
        start = self.starts[self.at]
        negative = self.skip("-")
        kind, word = self.kinds[self.at], self.texts[self.at]
        if negative and kind not in _NUMBERS:
            self.abort(expect.no_alternative(self.tokens, self.text, self.at - 1, self.at))
        end = self.starts[self.at] + len(word)
        self.at += 1
        try:
            type_name, value = literal_value(kind, word, negative=negative)
        except InvalidLiteral as problem:
            return self.note(Issue(str(problem), start, start, end))
        return Literal(start, start, end, type_name, value)

    # Members.

    def _select(self, operand: Node) -> Node:
        first = self.at
        dot = self.starts[first]
        optional = self.kinds[first + 1] == "?"
        self.at += 2 if optional else 1
        kind = self.kinds[self.at]
        if kind not in expect.FIELD.kinds:
            if optional:
                self.abort(expect.diagnose(self.tokens, self.at, expect.FIELD)[0])
            issue = expect.no_alternative(self.tokens, self.text, first, self.at)
            if self.kinds[self.at] not in _PRECEDENCE:
                self.abort(issue)
            self.note(issue)  # as if the dot were not there: an operator comes next
            return operand
        word, start = self.texts[self.at], self.starts[self.at]
        name = word[1:-1] if kind == ESCAPED else word
        end = start + len(word)
        self.at += 1
        if optional:
            field = Literal(start, start, end, "string", name)
            return Call(dot, start, end, None, "_?._", [operand, field])
        return Select(dot, start, end, operand, name)

    def _call(self, target: Node | None) -> Node:
        first = self.starts[self.at]
        is_dotted = self.skip(".")
        name, start = self.texts[self.at], self.starts[self.at]
        parenthesis = self.starts[self.at + 1]
        self.at += 2
        self.expect(expect.ARGUMENT)
        arguments: list[Node] = []
        if self.kinds[self.at] != ")":
            arguments.append(self._expression())
            while self.skip(","):
                arguments.append(self._expression())
        self.take(")", expect.PARENTHESIS)
        end = start + len(name)
        if target is None and name in RESERVED:
            return self._reserved(name, first, end)
        function = f".{name}" if is_dotted and target is None else name
        meant = expand(Call(parenthesis, start, end, target, function, arguments))
        return self.note(meant) if isinstance(meant, Issue) else meant

    # Lists, maps and messages.

    def _list(self) -> Node:
        start = self.starts[self.at]
        self.at += 1
        self.expect(expect.ELEMENT)
        elements: list[Node] = []
        optional: list[int] = []
        going_on = not self.skip(",")  # `[,]` is an empty list
        while going_on and self.kinds[self.at] in expect.INDEX.kinds:
            if self.skip("?"):
                optional.append(len(elements))
            elements.append(self._expression())
            self.expect(expect.AFTER_ELEMENT)
            going_on = self.skip(",")
        end = self.take("]", expect.BRACKET)
        return ListLiteral(start, start, end, elements, frozenset(optional))

    def _map(self) -> Node:
        start = self.starts[self.at]
        self.at += 1
        self.expect(expect.ENTRY)
        entries: list[Entry] = []
        going_on = not self.skip(",")  # `{,}` is an empty map
        while going_on and self.kinds[self.at] in expect.INDEX.kinds:
            optional = self.skip("?")
            key = self._expression()
            self.take(":", expect.COLON)
            entries.append(Entry(key, self._expression(), optional))
            self.expect(expect.AFTER_ENTRY)
            going_on = self.skip(",")
        end = self.take("}", expect.BRACE)
        return MapLiteral(start, start, end, entries)

    def _message(self, begin: int) -> Node:
        start, brace = self.starts[begin], self.starts[self.at]
        name = "".join(self.texts[begin : self.at])
        self.at += 1
        self.expect(expect.MESSAGE_ENTRY)
        values: list[Node] = []
        going_on = not self.skip(",")  # `C{,}` has no fields
        while going_on and self.kinds[self.at] in expect.MESSAGE_FIELD.kinds:
            self.skip("?")
            self.expect(expect.FIELD)
            self.at += 1
            self.take(":", expect.COLON)
            values.append(self._expression())
            self.expect(expect.AFTER_ENTRY)
            going_on = self.skip(",")
        self.take("}", expect.BRACE)
        return Message(brace, start, brace, name, values)


_PRIMARIES: Mapping[str, Callable[[_Parser], Node]] = {
    IDENTIFIER: _Parser._name,
    ".": _Parser._name,
    "(": _Parser._parenthesized,
    "[": _Parser._list,
    "{": _Parser._map,
    **dict.fromkeys(
        ("-", "true", "false", "null", INT, UINT, DOUBLE, STRING, BYTES), _Parser._literal
    ),
}
