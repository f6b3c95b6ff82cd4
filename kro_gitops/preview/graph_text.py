"""
A graph as text, Mermaid or DOT: what comes before what, and why.

An edge runs from what is needed to what needs it, labelled with what is read there.
"""

from kro_gitops.engine.graph.nodes import Dependency, Graph, Node, NodeKind

_SHAPES = {
    NodeKind.RESOURCE: ("[", "]"),
    NodeKind.COLLECTION: ("[[", "]]"),
    NodeKind.EXTERNAL: ("([", "])"),
    NodeKind.EXTERNAL_COLLECTION: ("([", "])"),
}
_DOT_SHAPES = {
    NodeKind.RESOURCE: "box",
    NodeKind.COLLECTION: "box3d",
    NodeKind.EXTERNAL: "oval",
    NodeKind.EXTERNAL_COLLECTION: "oval",
}
_MOST_READS = 3
_MERMAID_CODES = str.maketrans({"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;"})


def title(graph: Graph) -> str:
    """Name a graph: its definition and the kind it serves."""
    served = graph.definition.schema.served
    return f"{graph.definition.name}: {served.kind} ({served.api_version})"


def marks(node: Node) -> str:
    """Return the words that tell how a node differs from a plain resource."""
    words = []
    if node.for_each:
        words.append("forEach " + " × ".join(d.name for d in node.for_each))
    if node.kind.is_external:
        words.append("external")
    if node.include_when:
        words.append("conditional")
    return ", ".join(words)


def reads(dependency: Dependency) -> list[str]:
    """List what a dependency reads, each path once."""
    found = [path for use in dependency.uses for path in use.reads or (dependency.id,)]
    return list(dict.fromkeys(found))


def short_label(dependency: Dependency) -> str:
    """Return a label for an edge: the first few paths below the node's id."""
    found = [path.removeprefix(f"{dependency.id}.") for path in reads(dependency)]
    rest = len(found) - _MOST_READS
    return ", ".join(found[:_MOST_READS]) + (f" and {rest} more" if rest > 0 else "")


def as_text(graph: Graph) -> str:
    """List nodes in the order they are applied, with the reason for each wait."""
    lines = [title(graph)]
    width = max((len(name) for name in graph.order), default=0)
    for number, name in enumerate(graph.order, 1):
        node = graph.nodes[name]
        extra = f"  ({marks(node)})" if marks(node) else ""
        lines.append(f"{number:>3}. {name:<{width}}  {node.resource.kind}{extra}")
        for dependency in node.dependencies:
            for use in dependency.uses:
                what = ", ".join(use.reads) or dependency.id
                lines.append(f"     {'':<{width}}    needs {dependency.id}: {use.where} ← {what}")
    if not graph.order:
        lines.append("  no resources")
    return "\n".join(lines) + "\n"


def as_mermaid(graph: Graph) -> str:
    """Draw a Mermaid flowchart, as Markdown renderers show it."""
    lines = ["flowchart TD"]
    for name in graph.order:
        node = graph.nodes[name]
        left, right = _SHAPES[node.kind]
        label = f"{name}<br/>{node.resource.kind}"
        if marks(node):
            label += f"<br/><i>{marks(node)}</i>"
        lines.append(f'  {_mermaid_id(name)}{left}"{label}"{right}')
    for name in graph.order:
        for dependency in graph.nodes[name].dependencies:
            label = short_label(dependency).translate(_MERMAID_CODES)
            start, end = _mermaid_id(dependency.id), _mermaid_id(name)
            lines.append(f'  {start} -->|"{label}"| {end}')
    return "\n".join(lines) + "\n"


def _mermaid_id(name: str) -> str:
    # Words such as `end` mean something to Mermaid; no id of ours does with a prefix.
    return f"n_{name}"


def as_dot(graph: Graph) -> str:
    """Draw a DOT digraph for Graphviz."""
    lines = [f"digraph {_dot(graph.definition.name)} {{", "  rankdir=TB;"]
    for name in graph.order:
        node = graph.nodes[name]
        label = "\\n".join(filter(None, (name, node.resource.kind, marks(node))))
        lines.append(f'  {_dot(name)} [shape={_DOT_SHAPES[node.kind]}, label="{label}"];')
    for name in graph.order:
        for dependency in graph.nodes[name].dependencies:
            label = _dot(short_label(dependency))
            lines.append(f"  {_dot(dependency.id)} -> {_dot(name)} [label={label}];")
    lines.append("}")
    return "\n".join(lines) + "\n"


def _dot(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
