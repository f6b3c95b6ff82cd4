"""
A graph as SVG, laid out in rows, without any external program.

A node stands in the row below the last one it needs. Within a row nodes are ordered by the
mean position of what they need, which keeps most edges short and few crossing; that is
enough for the dozens of nodes a definition has.
"""

from dataclasses import dataclass
from html import escape

from kro_gitops.engine.graph.nodes import Graph, Node, NodeKind
from kro_gitops.preview.graph_text import marks, short_label, title

_BOX_HEIGHT = 58
_ROW_GAP = 64
_COLUMN_GAP = 36
_MARGIN = 28
_LINE_HEIGHT = 16
_TITLE_HEIGHT = 34
_TITLE_LETTER = 9.5
_LETTER = 7.2  # the width of a letter at the sizes below, near enough to place boxes

_STYLE = (
    "text{font-family:ui-sans-serif,system-ui,sans-serif;fill:#1f2933}"
    ".title{font-size:15px;font-weight:600}.id{font-size:13px;font-weight:600}"
    ".kind{font-size:12px;fill:#52606d}.mark{font-size:11px;font-style:italic;fill:#52606d}"
    ".why{font-size:10px;fill:#52606d}.halo{fill:#fff;stroke:#fff;stroke-width:4px}.box{fill:#f5f7fa;stroke:#3e4c59;stroke-width:1.2}"
    ".external{fill:#fff;stroke-dasharray:5 3}.edge{fill:none;stroke:#7b8794;stroke-width:1.3}"
)
_ARROW = (
    '<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#7b8794"/></marker>'
)


@dataclass(frozen=True, slots=True)
class _Box:
    x: float
    y: float
    width: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


def as_svg(graph: Graph) -> str:
    """Draw a graph as a complete SVG document."""
    boxes = _place(graph)
    width = max(
        [box.x + box.width for box in boxes.values()]
        + [_label_end(graph, boxes), len(title(graph)) * _TITLE_LETTER]
    )
    height = max([box.y + _BOX_HEIGHT for box in boxes.values()] + [_TITLE_HEIGHT + _MARGIN])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width + _MARGIN:.0f} '
        f'{height + _MARGIN:.0f}" role="img" aria-label="{escape(title(graph))}">',
        f"<style>{_STYLE}</style><defs>{_ARROW}</defs>",
        f'<text class="title" x="{_MARGIN}" y="{_MARGIN}">{escape(title(graph))}</text>',
    ]
    parts += [line for name in graph.order for line in _edges(graph.nodes[name], boxes)]
    parts += [_box_svg(graph.nodes[name], boxes[name]) for name in graph.order]
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _label_end(graph: Graph, boxes: dict[str, _Box]) -> float:
    """Return how far to the right the labels of edges may reach, roughly."""
    ends = (
        max(boxes[node.id].middle, boxes[each.id].middle) + len(short_label(each)) * 6
        for node in graph.nodes.values()
        for each in node.dependencies
    )
    return max(ends, default=0.0)


def _rows(graph: Graph) -> list[list[str]]:
    row: dict[str, int] = {}
    for name in graph.order:
        needed = graph.nodes[name].dependencies
        row[name] = max((row[each.id] + 1 for each in needed), default=0)
    rows: list[list[str]] = [[] for _ in range(max(row.values(), default=-1) + 1)]
    for name in graph.order:
        rows[row[name]].append(name)
    return rows


def _place(graph: Graph) -> dict[str, _Box]:
    boxes: dict[str, _Box] = {}
    rows = _rows(graph)
    widest = max((_row_width(graph, names) for names in rows), default=0.0)
    y = _MARGIN + _TITLE_HEIGHT
    for names in rows:
        ordered = sorted(names, key=lambda name: _pull(graph.nodes[name], boxes))
        x = _MARGIN + (widest - _row_width(graph, names)) / 2
        for name in ordered:
            width = _box_width(graph.nodes[name])
            boxes[name] = _Box(x, y, width)
            x += width + _COLUMN_GAP
        y += _BOX_HEIGHT + _ROW_GAP
    return boxes


def _row_width(graph: Graph, names: list[str]) -> float:
    widths = sum(_box_width(graph.nodes[name]) for name in names)
    return widths + _COLUMN_GAP * (len(names) - 1)


def _pull(node: Node, boxes: dict[str, _Box]) -> tuple[float, int]:
    """Return where a node would like to stand: the middle of what it needs."""
    needed = [boxes[each.id].middle for each in node.dependencies]
    return (sum(needed) / len(needed) if needed else 0.0, node.index)


def _box_width(node: Node) -> float:
    longest = max(len(node.id), len(node.resource.kind), len(marks(node)))
    return max(110.0, longest * _LETTER + 28)


def _box_svg(node: Node, box: _Box) -> str:
    external = " external" if node.kind.is_external else ""
    parts = []
    if node.kind is NodeKind.COLLECTION:
        parts.append(_rect(box.x + 5, box.y + 5, box.width, "box"))
    parts.append(_rect(box.x, box.y, box.width, f"box{external}"))
    lines = [("id", node.id), ("kind", node.resource.kind)]
    if marks(node):
        lines.append(("mark", marks(node)))
    top = box.y + (_BOX_HEIGHT - _LINE_HEIGHT * len(lines)) / 2 + 12
    for number, (style, text) in enumerate(lines):
        place = f'x="{box.middle:.1f}" y="{top + number * _LINE_HEIGHT:.1f}"'
        parts.append(f'<text class="{style}" {place} text-anchor="middle">{escape(text)}</text>')
    return "".join(parts)


def _rect(x: float, y: float, width: float, style: str) -> str:
    size = f'width="{width:.1f}" height="{_BOX_HEIGHT}"'
    return f'<rect class="{style}" x="{x:.1f}" y="{y:.1f}" {size} rx="7"/>'


def _edges(node: Node, boxes: dict[str, _Box]) -> list[str]:
    end = boxes[node.id]
    found = []
    count = len(node.dependencies)
    for index, dependency in enumerate(node.dependencies, 1):
        start = boxes[dependency.id]
        x1, y1 = start.middle, start.y + _BOX_HEIGHT
        x2, y2 = end.x + end.width * index / (count + 1), end.y - 1
        bend = (y2 - y1) / 2
        path = f"M{x1:.1f} {y1} C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2}"
        why = " and ".join(use.where for use in dependency.uses)
        tip = f"<title>{escape(f'{node.id} needs {dependency.id}: {why}')}</title>"
        place = f'x="{(x1 + x2) / 2 + 5:.1f}" y="{(y1 + y2) / 2:.1f}"'
        text = escape(short_label(dependency))
        # The line must not strike its own label through; not every viewer knows paint-order.
        label = "".join(
            f'<text class="{style}" {place}>{text}</text>' for style in ("why halo", "why")
        )
        found.append(f'<g><path class="edge" d="{path}" marker-end="url(#arrow)"/>{label}{tip}</g>')
    return found
