"""
How deep an expression may go.

cel-go limits two things to the same number. How deep brackets, operators and conditionals are
nested is counted while parsing (`syntax`). How many levels the finished tree has is counted
here: a long chain of selections or additions is not nested, but deep.
"""

from kube_cel.syntax_tree import Call, Has, Macro, Node, Select, children

MAX_DEPTH = 250
TOO_NESTED = f"expression recursion limit exceeded: {MAX_DEPTH}"
TOO_DEEP = "max recursion depth exceeded"

# Operations that add no level: chains of && and || are balanced, the others do not repeat.
_FLAT = frozenset(("!_", "-_", "_&&_", "_||_"))


def depth(tree: Node) -> int:
    """Count the levels of selections, methods and operations, as cel-go does."""
    deepest = 0
    waiting = [(tree, 0)]
    while waiting:
        node, level = waiting.pop()
        if _adds_level(node):
            level += 1
        deepest = max(deepest, level)
        waiting += [(child, level) for child in children(node)]
    return deepest


def _adds_level(node: Node) -> bool:
    if isinstance(node, Call) and node.target is None:
        is_operation = not node.function.removeprefix(".").isidentifier()
        return is_operation and node.function not in _FLAT
    return isinstance(node, Call | Select | Has | Macro)
