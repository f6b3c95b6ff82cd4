"""
Write the tables of `docs/reference/gitsource.md`, from the CRD of GitSource.

    python -m tools.update_source_docs

What stands between `<!-- NAME -->` and `<!-- end of NAME -->` is made anew, the rest is written by
hand. A test compares the page with what would be written.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kro_gitops.source.api.crd import git_source_crd, source_inventory_crd
from kro_gitops.source.api.schema_parts import DURATION
from kube_objects.refs import KubeObject

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "gitsource.md"

Schema = dict[str, Any]

_RULES = "x-kubernetes-validations"


@dataclass(frozen=True, slots=True)
class Field:
    """A field: its path, whether it must be there, and its schema."""

    path: str
    is_required: bool
    schema: Schema


def schema_of(crd: KubeObject) -> Schema:
    """Return the schema of a CRD."""
    schema: Schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def fields(schema: Schema, path: str = "") -> Iterator[Field]:
    """Give all fields below a place, in their order."""
    for name, part in schema.get("properties", {}).items():
        own = f"{path}.{name}" if path else name
        yield Field(own, name in schema.get("required", ()), part)
        yield from fields(part, own)
    if "items" in schema:
        yield from fields(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        yield from fields(schema["additionalProperties"], f"{path}.KEY")


def spec_table() -> str:
    """Return the table of the spec."""
    rows = ["| field | may be | default | meaning |", "|---|---|---|---|"]
    for each in fields(schema_of(git_source_crd())["properties"]["spec"]):
        default = f"`{_word(each.schema['default'])}`" if "default" in each.schema else ""
        needed = "**required** " if each.is_required else ""
        cells = (f"`{each.path}`", needed + allowed(each.schema), default, meaning(each.schema))
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def status_table() -> str:
    """Return the table of the status."""
    return _short_table(schema_of(git_source_crd())["properties"]["status"])


def inventory_table() -> str:
    """Return the table of an inventory."""
    entries = schema_of(source_inventory_crd())["properties"]["entries"]
    return _short_table({"properties": {"entries": entries}})


def _short_table(schema: Schema) -> str:
    rows = ["| field | is | meaning |", "|---|---|---|"]
    rows += [
        f"| `{each.path}` | {allowed(each.schema)} | {meaning(each.schema)} |"
        for each in fields(schema)
    ]
    return "\n".join(rows) + "\n"


def rules_list() -> str:
    """Return what must hold between fields, in the words of the API server."""
    schema = schema_of(git_source_crd())["properties"]["spec"]
    parts = [("spec", schema), *((f"spec.{each.path}", each.schema) for each in fields(schema))]
    lines = [
        f"- `{path}`: {rule['message']}" for path, part in parts for rule in part.get(_RULES, ())
    ]
    return "\n".join(lines) + "\n"


def allowed(schema: Schema) -> str:
    """Say in a few words what a field may be."""
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    if schema.get("pattern") == DURATION:
        return "duration"
    if schema.get("format") == "date-time":
        return "time"
    match schema["type"]:
        case "array":
            most = f", at most {schema['maxItems']}" if "maxItems" in schema else ""
            return f"list{most}"
        case "integer" if "maximum" in schema:
            return f"{schema['minimum']} to {schema['maximum']}"
        case "string":
            return "text"
        case other:
            return str(other)


def meaning(schema: Schema) -> str:
    """Return the text of a field, fit for a table."""
    text: str = schema["description"]
    return text.replace("|", r"\|").replace("*.", r"\*.").replace("; * and", r"; \* and")


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_PARTS: dict[str, Callable[[], str]] = {
    "spec": spec_table,
    "rules": rules_list,
    "status": status_table,
    "inventory": inventory_table,
}


def page() -> str:
    """Return the page, with its tables written anew."""
    text = PAGE.read_text(encoding="utf-8")
    for name, made in _PARTS.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        before, rest = text.split(begin)
        _, after = rest.split(end)
        text = f"{before}{begin}\n{made()}\n{end}{after}"
    return text


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
