"""
The door to the language: text in, program out.

Who needs the steps one by one (references before types, types of pieces) calls the modules
behind it; who only wants an expression compiled calls this.
"""

from kro_gitops.cel.check import check
from kro_gitops.cel.declarations import Environment
from kro_gitops.cel.program import Program, compile_program
from kro_gitops.cel.syntax import parse


def compile_text(text: str, environment: Environment) -> Program:
    """
    Parse, check and compile an expression.

    Raises `SyntaxProblem`, `CheckProblem` or `BuildProblem`, each with the text's own places.
    """
    tree = parse(text)
    check(tree, environment, text)
    return compile_program(tree, environment, text)
