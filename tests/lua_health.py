"""
Runs the health check for Argo CD that the documentation prints, without a Lua interpreter.

The script uses a small part of Lua, which is translated to Python line by line. A line that is not
known fails, so the script cannot grow beyond what is checked.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kube_objects.refs import KubeObject

_PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "argocd.md"
_NAMES = r"[\w.]+(?:, [\w.]+)*"


class Table(dict[str, Any]):
    """A table of Lua: fields are attributes, and what is not there is nil."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


def argocd_health(obj: KubeObject) -> str:
    """Return the health that Argo CD shows with the script of the documentation."""
    text = _PAGE.read_text(encoding="utf-8")
    block = text.split("health.lua: |\n", 1)[1].split("```", 1)[0]
    scope: dict[str, Any] = {"Table": Table}
    exec("def check(obj):\n" + "\n".join(_translated(block)), scope)
    return str(scope["check"](_table(obj)).status)


def _table(value: Any) -> Any:
    if isinstance(value, dict):
        return Table({key: _table(each) for key, each in value.items()})
    return [_table(each) for each in value] if isinstance(value, list) else value


def _translated(block: str) -> Iterator[str]:
    depth = 1
    for line in filter(None, map(str.strip, block.splitlines())):
        if line in ("end", "else") or line.startswith("elseif "):
            depth -= 1
        if line != "end":
            yield "    " * depth + _statement(line)
        if line.endswith((" then", " do")) or line == "else":
            depth += 1


def _statement(line: str) -> str:
    if found := re.fullmatch(r"if (.+) then (.+) end", line):
        return f"if {_value(found[1])}: {_statement(found[2])}"
    if found := re.fullmatch(r"(if|elseif) (.+) then", line):
        return f"{'if' if found[1] == 'if' else 'elif'} {_value(found[2])}:"
    if found := re.fullmatch(r"for _, (\w+) in ipairs\((.+)\) do", line):
        return f"for {found[1]} in {_value(found[2])}:"
    if found := re.fullmatch(rf"(?:local )?({_NAMES}) = (.+)", line):
        return f"{found[1]} = {_value(found[2])}"
    if found := re.fullmatch(r"return (\w+)", line):
        return line
    raise ValueError(f"not known: {line}")


def _value(text: str) -> str:
    fields = re.compile(r"\{(\w+ = .+)\}")
    text = fields.sub(lambda found: f"Table({found[1]})", text).replace("{}", "Table()")
    for lua, python in (("~= nil", "is not None"), ("== nil", "is None"), ("~=", "!=")):
        text = text.replace(lua, python)
    return re.sub(r"\bnil\b", "None", text)
