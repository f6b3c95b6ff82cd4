"""
Names an author may give: kinds, node ids, iterators.

They become CEL identifiers, so words that CEL or kro already use are taken.
"""

import re
from collections.abc import Iterator

from kro_gitops.engine.definition import Definition, ResourceSpec
from kube_objects.problems import Problem, Spot

_KIND = re.compile(r"[A-Z][a-zA-Z0-9]*")
_IDENTIFIER = re.compile(r"[a-z][a-zA-Z0-9]*")

CEL_WORDS = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for"),
        *("function", "if", "import", "let", "loop", "package", "namespace", "return", "var"),
        *("void", "while"),
    )
)
KRO_WORDS = frozenset(
    (
        *("apiVersion", "context", "dependency", "dependencies", "each", "externalRef"),
        *("externalReference", "externalRefs", "externalReferences", "graph", "instance"),
        *("item", "items", "kind", "kro", "metadata", "namespace", "object", "resource"),
        *("resourcegraphdefinition", "resourceGraphDefinition", "resources", "root", "runtime"),
        *("schema", "self", "serviceAccountName", "spec", "status", "this", "variables", "vars"),
        "version",
    )
)
RESERVED = CEL_WORDS | KRO_WORDS

_PREFIX = "failed to validate resourcegraphdefinition: "
_CONVENTION = f"{_PREFIX}naming convention violation: "


def is_kind_name(name: str) -> bool:
    """Return whether a kind is written as kinds are."""
    return _KIND.fullmatch(name) is not None


def check_names(definition: Definition, max_dimensions: int) -> Iterator[Problem]:
    """Yield the problems of the kind, the ids and the iterators, in that order."""
    kind = definition.schema.kind
    if not is_kind_name(kind):
        text = f"kind '{kind}' is not a valid KRO kind name: must be UpperCamelCase"
        words = [word for word in re.split(r"[^a-zA-Z0-9]+", kind) if word]
        camel = "".join(word[:1].upper() + word[1:] for word in words)
        hint = "use letters and digits, a capital letter first"
        if is_kind_name(camel):
            hint = f"write '{camel}'"
        spot = Spot(("spec", "schema", "kind"))
        yield Problem("invalid-kind-name", text, spot, _CONVENTION + text, hint)
    seen: dict[str, int] = {}
    for resource in definition.resources:
        name = resource.id
        spot = Spot((*resource.path, "id"))
        if name in RESERVED:
            text = f"id {name} is a reserved keyword in KRO"
            hint = f"choose another id, such as '{name}Node'"
            yield Problem("reserved-id", text, spot, _CONVENTION + text, hint)
        elif not _IDENTIFIER.fullmatch(name):
            text = f"id {name} is not a valid KRO resource id: must be lower camelCase"
            yield Problem("invalid-id", text, spot, _CONVENTION + text, _camel_hint(name))
        elif name in seen:
            text = f"found duplicate resource IDs {name}"
            hint = f"resources[{seen[name]}] has this id already; ids must be unique"
            yield Problem("duplicate-id", text, spot, _CONVENTION + text, hint)
        seen.setdefault(name, resource.index)
    ids = {resource.id for resource in definition.resources}
    for resource in definition.resources:
        yield from _check_iterators(resource, ids, max_dimensions)


def _check_iterators(
    resource: ResourceSpec, ids: set[str], max_dimensions: int
) -> Iterator[Problem]:
    prefix = f'resource "{resource.id}": '
    count = len(resource.for_each)
    if count > max_dimensions:
        text = f"{prefix}forEach cannot have more than {max_dimensions} dimensions, got {count}"
        spot = Spot((*resource.path, "forEach"), on_key=True)
        yield Problem("too-many-dimensions", text, spot, _PREFIX + text)
        return
    seen: set[str] = set()
    for dimension in resource.for_each:
        name = dimension.name
        quoted = f'forEach iterator name "{name}"'
        if not _IDENTIFIER.fullmatch(name):
            code, text = "invalid-iterator", f"{quoted} is not valid: must be lowerCamelCase"
        elif name in RESERVED:
            code, text = "reserved-iterator", f"{quoted} is a reserved keyword"
        elif name in ids:
            code, text = "iterator-conflict", f"{quoted} conflicts with resource ID"
        elif name in seen:
            code, text = "duplicate-iterator", f'duplicate forEach iterator name "{name}"'
        else:
            code, text = "", ""
        if code:
            spot = Spot(dimension.path, on_key=True)
            hint = _camel_hint(name) if code == "invalid-iterator" else ""
            yield Problem(code, f"{prefix}{text}", spot, f"{_PREFIX}{prefix}{text}", hint)
        seen.add(name)


def _camel_hint(name: str) -> str:
    """Return the advice for an invalid id: the same words in lowerCamelCase, if that is valid."""
    words = [word for word in re.split(r"[^a-zA-Z0-9]+", name) if word]
    camel = "".join(word[:1].upper() + word[1:] for word in words).lstrip("0123456789")
    camel = camel[:1].lower() + camel[1:]
    usable = camel and camel != name and camel not in RESERVED
    return f"write '{camel}'" if usable else "use letters and digits, a lower-case letter first"
