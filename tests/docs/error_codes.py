"""
Every code the command line can report, read off the source of all that it imports.

A code is what is handed to a parameter or a dataclass field `code: str`: a string, a constant, a
class attribute, a variable that gets one of these, or a row of a table. Functions that only pass
their own `code` on are followed to their callers. What cannot be understood is an error here, so
that no code slips through.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
# Where each package of the workspace lies.
BASES = {
    "kro_gitops": REPOSITORY,
    "kube_objects": REPOSITORY / "packages/kube-objects/src",
    "kube_cel": REPOSITORY / "packages/kube-cel/src",
    "kube_sandbox": REPOSITORY / "packages/kube-sandbox/src",
}
PARAMETER = "code"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Module:
    """A parsed file and the names at its top."""

    name: str
    nodes: list[ast.AST]
    parents: dict[ast.AST, ast.AST]
    constants: dict[str, str] = field(default_factory=dict)
    tables: dict[str, list[list[ast.expr]]] = field(default_factory=dict)  # their rows
    imports: dict[str, tuple[str, str]] = field(default_factory=dict)  # name → file, name there


@dataclass(slots=True)
class Source:
    """The package: its files, and which of its callables take a code, at which position."""

    modules: list[Module] = field(default_factory=list)
    functions: dict[tuple[str, str], int] = field(default_factory=dict)
    classes: dict[str, list[tuple[Module, ast.ClassDef]]] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)  # other names of classes


@cache
def emitted_codes() -> dict[str, set[str]]:
    """Return every code, with the files that report it."""
    source = _read()
    found: dict[str, set[str]] = {}
    for module in source.modules:
        for call in module.nodes:
            if isinstance(call, ast.Call):
                for code in _codes_of_call(call, module, source):
                    found.setdefault(code, set()).add(module.name)
    return found


def _read() -> Source:
    source = Source()
    for _, module in sorted(_reachable().items()):
        source.modules.append(module)
        for node in module.nodes:
            _learn(node, module, source)
    return source


def _reachable() -> dict[Path, Module]:
    """Parse the files of the command line, and all that they import, at once or later."""
    found: dict[Path, Module] = {}
    waiting = sorted((REPOSITORY / "kro_gitops" / "cli").rglob("*.py"))
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = _parsed(path)
            waiting.extend(_imported(found[path]))
    return found


def _parsed(path: Path) -> Module:
    """Walk through a file once: there are half a million nodes in all."""
    nodes: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    parents: dict[ast.AST, ast.AST] = {}
    for node in nodes:  # which grows meanwhile
        children = list(ast.iter_child_nodes(node))
        parents.update(dict.fromkeys(children, node))
        nodes.extend(children)
    base = next(base for name, base in BASES.items() if base / name in path.parents)
    return Module(path.relative_to(base).as_posix(), nodes, parents)


def _imported(module: Module) -> Iterator[Path]:
    for node in module.nodes:
        match node:
            case ast.ImportFrom(module=str(name), names=names) if name.split(".")[0] in BASES:
                pass
            case ast.Call(func=ast.Name(id="import_module"), args=[ast.Constant(value=str(name))]):
                names = []
            case _:
                continue
        parts = name.split(".")
        path = BASES[parts[0]].joinpath(*parts)
        files = (path.with_suffix(".py"), *(path / f"{n.name}.py" for n in names))
        yield from (file for file in files if file.exists())


def _learn(node: ast.AST, module: Module, source: Source) -> None:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            names = _parameters(node)
            if PARAMETER in names and node.name != "__init__" and not _adds_prefix(node):
                source.functions[module.name, node.name] = names.index(PARAMETER)
        case ast.ClassDef():
            source.classes.setdefault(node.name, []).append((module, node))
        case ast.ImportFrom(module=str(origin), names=names) if origin.split(".")[0] in BASES:
            file = "/".join(origin.split(".")) + ".py"
            module.imports.update({each.asname or each.name: (file, each.name) for each in names})
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=other)):
            if name[0].isupper() and other[0].isupper():
                source.aliases[name] = other
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
            if name.isupper():
                module.constants[name] = source.constants[name] = text
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.Tuple(elts=rows)):
            module.tables[name] = _rows(rows)
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.Dict(values=rows)):
            module.tables[name] = _rows(rows)
        case _:
            pass


def _rows(values: list[ast.expr]) -> list[list[ast.expr]]:
    return [each.elts for each in values if isinstance(each, ast.Tuple)]


def _parameters(function: Function) -> list[str]:
    arguments = function.args
    listed = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    names = [_named(each.arg, each.annotation) for each in listed]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def _named(name: str, annotation: ast.expr | None) -> str:
    """Return a name, but another one for codes that are no text: those of HTTP."""
    is_text = isinstance(annotation, ast.Name) and annotation.id == "str"
    return name if name != PARAMETER or is_text else f"{name} of another kind"


def _adds_prefix(function: Function) -> bool:
    """Say whether a function makes codes of its own from those it gets."""
    return any(
        isinstance(node, ast.FormattedValue)
        and isinstance(node.value, ast.Name)
        and node.value.id == PARAMETER
        for node in ast.walk(function)
    )


def _class(name: str, module: Module, source: Source) -> tuple[Module, ast.ClassDef] | None:
    """Find the class that a name means in a file: its own, imported, or the only one there is."""
    file, original = module.imports.get(name, (module.name, name))
    known = source.classes.get(source.aliases.get(original, original), [])
    own = [each for each in known if each[0].name == file]
    return own[0] if own else known[0] if len(known) == 1 else None


def _fields(name: str, module: Module, source: Source) -> list[str]:
    """Return what is handed over to make an object of a class: its own `__init__`, or inherited."""
    known = _class(name, module, source)
    if known is None:
        return []
    home, found = known
    for item in found.body:
        if isinstance(item, ast.FunctionDef) and item.name == "__init__":
            return _parameters(item)
    own = [
        _named(item.target.id, item.annotation)
        for item in found.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    ]
    if any("dataclass" in ast.unparse(each) for each in found.decorator_list):
        return own
    return _inherited(found, home, source)


def _inherited(found: ast.ClassDef, home: Module, source: Source) -> list[str]:
    fields = (_fields(base, home, source) for base in _bases(found))
    return next((names for names in fields if names), [])


def _bases(found: ast.ClassDef) -> list[str]:
    return [base.id for base in found.bases if isinstance(base, ast.Name)]


def _codes_of_call(call: ast.Call, module: Module, source: Source) -> Iterator[str]:
    position = _position(call, module, source)
    if position is None:
        return
    named = [keyword.value for keyword in call.keywords if keyword.arg == PARAMETER]
    given = named or call.args[position : position + 1]
    for value in given:
        yield from _codes(value, call, module, source)


def _position(call: ast.Call, module: Module, source: Source) -> int | None:
    """Say which argument of a call is a code, if one is."""
    match call.func:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__"):
            around = _enclosing(call, module)
            owner = next(each for each in around if isinstance(each, ast.ClassDef))
            names = _inherited(owner, module, source)
            return names.index(PARAMETER) if PARAMETER in names else None
        case ast.Name(id=name) | ast.Attribute(attr=name):
            names = _fields(name, module, source)
            if names:
                return names.index(PARAMETER) if PARAMETER in names else None
            if (module.name, name) in source.functions:
                return source.functions[module.name, name]
            # A public method of another file: its name must be enough to know it by.
            elsewhere = {at for (_, other), at in source.functions.items() if other == name}
            return elsewhere.pop() if len(elsewhere) == 1 and not name.startswith("_") else None
        case _:
            return None


def _codes(value: ast.expr, call: ast.AST, module: Module, source: Source) -> Iterator[str]:
    match value:
        case ast.Constant(value=str(text)):
            if text:
                yield text
        case ast.Name(id=name) if name in module.constants or name in source.constants:
            yield module.constants.get(name, source.constants.get(name, ""))
        case ast.Name(id=name):
            yield from _codes_of_variable(name, call, module)
        case ast.BoolOp(values=values):
            for each in values:
                yield from _codes(each, call, module, source)
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            yield from _class_attributes(name, source)
        case _ if _is_reported(value):
            pass
        case ast.JoinedStr(values=[ast.Constant(value=str(prefix)), ast.FormattedValue()]):
            yield from (prefix + code for code in _codes_of_callers(call, module))
        case _:
            raise AssertionError(f"{module.name}: no code can be read off {ast.unparse(value)}")


def _is_reported(value: ast.expr) -> bool:
    """Say whether a value is a code that somebody else reported, as an error or in a status."""
    match value:
        case ast.Attribute(attr="code"):
            return True
        case ast.Call(
            args=[ast.BoolOp(values=[ast.Call(args=[ast.Constant(value="code")]), _]), _]
        ):
            return True
        case _:
            return False


def _codes_of_variable(name: str, call: ast.AST, module: Module) -> Iterator[str]:
    owner = _enclosing_function(call, module)
    if name in _parameters(owner):
        return  # passed on: the calls of the owner are looked at themselves
    found = [codes for node in ast.walk(owner) if (codes := _bound(name, node, module)) is not None]
    assert found, f"{module.name}: nobody knows what {name} is in {owner.name}"
    yield from (code for codes in found for code in codes)


def _bound(name: str, node: ast.AST, module: Module) -> list[str] | None:
    """Return the codes that a statement gives to a variable; `None` if it gives it nothing."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=value) if name in _named_in(names):
            at = _named_in(names).index(name)
        case ast.For(target=ast.Tuple(elts=names), iter=value) if name in _named_in(names):
            at = _named_in(names).index(name)
        case ast.comprehension(target=ast.Name(id=other), iter=ast.Name(id="codes")):
            return [] if other == name else None  # what somebody else reported
        case _:
            return None
    match value:
        case ast.Call(func=ast.Name(id=maker)):
            return list(_returned(maker, at, module))
        case ast.Tuple(elts=values):
            return list(_texts([values], at))
        case ast.Name(id=table) | ast.Subscript(value=ast.Name(id=table)) if table in module.tables:
            return list(_texts(module.tables[table], at))
        case _:
            raise AssertionError(f"{module.name}: no code can be read off {ast.unparse(value)}")


def _named_in(names: list[ast.expr]) -> list[str]:
    return [each.id if isinstance(each, ast.Name) else "" for each in names]


def _texts(rows: list[list[ast.expr]], at: int) -> Iterator[str]:
    for row in rows:
        text = row[at]
        assert isinstance(text, ast.Constant), f"no code can be read off {ast.unparse(text)}"
        if text.value:
            yield str(text.value)


def _codes_of_callers(call: ast.AST, module: Module) -> Iterator[str]:
    """Return what the callers of a function that puts a prefix before its code hand over."""
    owner = _enclosing_function(call, module)
    position = _parameters(owner).index(PARAMETER)
    for other in module.nodes:
        if isinstance(other, ast.Call) and _called(other) == owner.name:
            value = other.args[position]
            assert isinstance(value, ast.Constant)
            yield str(value.value)


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _returned(maker: str, at: int, module: Module) -> Iterator[str]:
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef) and node.name == maker:
            for item in ast.walk(node):
                match item:
                    case ast.Return(value=ast.Tuple(elts=values)):
                        yield from _texts([values], at)
                    case _:
                        pass


def _class_attributes(name: str, source: Source) -> Iterator[str]:
    for _, found in (each for known in source.classes.values() for each in known):
        for item in found.body:
            match item:
                case ast.Assign(targets=[ast.Name(id=other)], value=ast.Constant(value=str(text))):
                    if other == name and text:
                        yield text
                case _:
                    pass


def _enclosing(node: ast.AST, module: Module) -> Iterator[ast.AST]:
    """Go outwards from a node, to the module."""
    while (parent := module.parents.get(node)) is not None:
        yield parent
        node = parent


def _enclosing_function(node: ast.AST, module: Module) -> Function:
    return next(each for each in _enclosing(node, module) if isinstance(each, Function))
