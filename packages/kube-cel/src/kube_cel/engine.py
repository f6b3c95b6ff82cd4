"""
The door to the language: text in, program out.

Who needs the steps one by one (references before types, types of pieces) calls the modules
behind it; who only wants an expression compiled calls this.
"""

from kube_cel.checker import check
from kube_cel.environment import Environment
from kube_cel.parser import parse
from kube_cel.program import Program, compile_program


def compile_text(text: str, environment: Environment) -> Program:
    """
    Parse, check and compile an expression.

    Raises `SyntaxProblem`, `CheckProblem` or `BuildProblem`, each with the text's own places.
    """
    tree = parse(text)
    check(tree, environment, text)
    return compile_program(tree, environment, text)
