"""
The acceptance cases of the authoring engine by number: ids, structure, scope, expressions,
types, graph, collections, status, conditions, CRD.

The definitions are in `tests/golden/graph-cases.jsonl`.
"""

from typing import Any

import pytest

from kro_gitops.engine.graph.nodes import FieldKind, Graph, NodeKind
from kube_objects.paths import format_path
from tests.graph_cases import cases

OK: tuple[str, ...] = ()

# case: what it is about, and the texts kro's users look for (none: it compiles)
CASES: dict[str, tuple[str, tuple[str, ...]]] = {
    "036": (
        "an id with a dash",
        ("is not a valid KRO resource id: must be lower camelCase",),
    ),
    "037": ("a reserved id", ("id items is a reserved keyword in KRO",)),
    "038": ("an id used twice", ("found duplicate resource IDs cache",)),
    "039": ("a kind in lower case", ("is not a valid KRO kind name",)),
    "040": ("a template without metadata", ("metadata field not found",)),
    "041": ("an apiVersion of three parts", ('invalid apiVersion format "a/b/c"',)),
    "042": ("an unknown kind", ("failed to get schema for resource", "schema not found")),
    "043": (
        "an unknown field",
        ("error getting field schema for path spec.colour: schema not found for field colour",),
    ),
    "044": ("text for an integer", ("expected integer type for path spec.amount, got string",)),
    "045": (
        "a fraction for an integer",
        ("expected integer type for path spec.amount, got float64",),
    ),
    "046": ("an int for a number, text for int-or-string, null", OK),
    "047": (
        "a bool for int-or-string",
        ("expected string or integer type for path spec.port, got boolean",),
    ),
    "048": (
        "an unknown field in a list",
        ("error getting field schema for path spec.parts[0].hue",),
    ),
    "049": (
        "a reserved label",
        ('labels with prefix "kro.run/" are reserved for internal use',),
    ),
    "050": (
        "a namespace on a cluster-scoped kind",
        ("is cluster-scoped and must not set metadata.namespace",),
    ),
    "051": (
        "no namespace in a cluster-scoped definition",
        ("must set metadata.namespace when the instance CRD is cluster-scoped",),
    ),
    "052": ("a computed namespace in a cluster-scoped definition", OK),
    "053": ("the namespace of a cluster-scoped instance", ("undefined field 'namespace'",)),
    "054a": ("a selector without namespace in a cluster-scoped definition", OK),
    "054b": (
        "a name without namespace in a cluster-scoped definition",
        ("must set metadata.namespace when the instance CRD is cluster-scoped",),
    ),
    "055a": ("an expression in a CRD's metadata", OK),
    "055b": ("an expression in a CRD's body", ("only supported for metadata fields",)),
    "056": ("an external reference with forEach", ("cannot use externalRef with forEach",)),
    "057": ("a string template", OK),
    "058": (
        "an int in a string template",
        ("found no matching overload for '_+_' applied to '(string, int)'",),
    ),
    "059": ("a converted int in a string template", OK),
    "060": (
        "an int for a string",
        (
            'type mismatch in resource "cm" at path "metadata.name"',
            'returns type "int" but expected "string"',
        ),
    ),
    "061a": ("an int for a double", ('returns type "int" but expected "double"',)),
    "061b": ("a double for a double", OK),
    "062a": ("an int for int-or-string", OK),
    "062b": ("a string for int-or-string", OK),
    "063": (
        "a string template for an integer",
        ("expected integer type for path spec.amount, got string",),
    ),
    "064": ("a string for bytes", ('expected "bytes"',)),
    "065": ("a string for a timestamp", ('expected "google.protobuf.Timestamp"',)),
    "066a": ("an optional string for a string", OK),
    "066b": ("an optional string in a template", ("optional_type(string)",)),
    "067a": ("a map for a map", OK),
    "067b": ("a list for a map", ("map parameter count mismatch: got 1, expected 2",)),
    "068": ("a list for a string", ("type mismatch",)),
    "069": ("objects with a subset of the fields", OK),
    "070": (
        "objects with a field too many",
        ('field "hue" exists in output but not in expected type',),
    ),
    "071": ("objects with a field of another type", ("kind mismatch",)),
    "072": ("a mixed map for an object", OK),
    "073": (
        "a narrow map for an object",
        ('map value incompatible with struct field "qty"',),
    ),
    "074": ("expressions below a free field", OK),
    "075": ("a field below a free object", OK),
    "076a": ("a field that is not declared", ("undefined field 'zip'",)),
    "076b": ("has() of a field that is not declared", ("undefined field 'zip'",)),
    "077": ("the instance's own status", ("undefined field 'status'",)),
    "078": ("a node that does not exist", ("references unknown identifiers: [gizmo]",)),
    "079": ("a function that does not exist", ("uses unknown functions: [{shout}]",)),
    "080": ("a method that does not exist", ("undeclared reference to 'shout'",)),
    "081": (
        "an expression in an expression",
        ("nested expressions are not allowed unless inside string literals",),
    ),
    "082": ("openings that never close", OK),
    "083": ("a shell variable as a string literal", OK),
    "084": ("a dollar before an expression", OK),
    "085": ("a condition that ends in a newline", ("only standalone expressions are allowed",)),
    "086": ("an annotation with a dot in its key", OK),
    "087a": ("a field with a dash, escaped", OK),
    "087b": ("a field with a dash, by index", ("found no matching overload for '_[_]'",)),
    "088": ("order keeps the list where it can", OK),
    "089": ("two nodes that need each other", ("graph contains a cycle",)),
    "090": ("a cycle through includeWhen", ("graph contains a cycle",)),
    "091": ("a node that reads itself", ("self references are not allowed",)),
    "092": ("a loop variable named like a node", OK),
    "093": (
        "includeWhen of an int",
        ('must return bool or optional_type(bool), but returns "int"',),
    ),
    "094a": ("includeWhen of a dyn", ('but returns "dyn"',)),
    "094b": ("includeWhen that compares a dyn", OK),
    "094c": ("includeWhen of an optional bool", OK),
    "095a": ("readyWhen of the node's own status", OK),
    "095b": (
        "readyWhen that reads the instance",
        ("readyWhen: references unknown identifiers: [schema]",),
    ),
    "095c": ("readyWhen of a string", ("must return bool",)),
    "096": ("a collection", OK),
    "097": ("an iterator that only makes a label", ("missing: [v]",)),
    "098": ("an iterator that makes the namespace", OK),
    "099": ("one of two iterators in the name", ("missing: [v]",)),
    "100": ("an iterator that reads another", ("cannot reference other iterators [v]",)),
    "101a": ("forEach over a string", ("must return a list",)),
    "101b": ("forEach over a map", ("must return a list",)),
    "101c": ("forEach over a dyn", ("must return a list",)),
    "101d": ("forEach over an optional list", ("must return a list",)),
    "102": ("forEach over a range", OK),
    "103a": ("an iterator named item", ("reserved keyword",)),
    "103b": ("an iterator with a capital", ("must be lowerCamelCase",)),
    "103c": ("an iterator named like a node", ("conflicts with resource ID",)),
    "104a": ("a field of a collection", ("does not support field selection",)),
    "104b": ("an element of a collection", OK),
    "104c": ("the size of a collection", OK),
    "105": ("forEach over a collection", OK),
    "106a": ("readyWhen of each", OK),
    "106b": ("readyWhen of the collection", ("references unknown identifiers: [c]",)),
    "106c": ("readyWhen of an iterator", ("references unknown identifiers: [v]",)),
    "107": ("objects found by selector", OK),
    "108": ("an expression in a selector", OK),
    "109": ("an int for the name of a reference", ('returns type "int" but expected "string"',)),
    "110": ("each in a template", ("node each does not exist",)),
    "111": ("eleven dimensions", ("forEach cannot have more than 10 dimensions, got 11",)),
    "112": ("projected scalars and lists", OK),
    "113": ("a projected template", OK),
    "114": (
        "an int in a projected template",
        ('failed to type-check status expression "n=${g.status.total}" at path "u"',),
    ),
    "115": ("nested projections", OK),
    "116": ("a projected optional", OK),
    "117": ("a projected free object", OK),
    "118": ("a projected timestamp", OK),
    "119": (
        "a literal in the status",
        ("status fields without expressions are not supported: [proto]",),
    ),
    "120": ("an empty object in the status", OK),
    "121": (
        "a constant in the status",
        ("instance status field must refer to a resource or schema: status.k",),
    ),
    "122": ("a status without resources", OK),
    "123": ("a projected collection", OK),
    "124": ("an author's condition", OK),
    "125": ("a condition with a quoted key", ("keys must be bare identifiers",)),
    "126": (
        "a condition with an odd status",
        ('status must be one of True, False, Unknown (got "Yes")',),
    ),
    "127": ("a condition declared twice", ("is declared by more than one conditions entry",)),
    "128": ("a look-up of an unknown condition", ("unknown condition type",)),
    "129": (
        "runtime in a template",
        ("runtime is only available in status.conditions expressions",),
    ),
    "130": ("a condition that is a string", ("must return runtime.newCondition",)),
    "131": ("the names of the CRD", OK),
    "132a": ("default printer columns", OK),
    "132b": ("an author's printer columns", OK),
    "144a": ("omit() without its gate", ("requires the CELOmitFunction feature gate",)),
    "144b": ("omit() with its gate", OK),
    "145": ("omit() as a name", ('omit() cannot be used at path "metadata.name"',)),
}


@pytest.mark.parametrize(
    ("number", "texts"),
    [pytest.param(n, texts, id=f"{n} {about}") for n, (about, texts) in CASES.items()],
)
def test_acceptance(number: str, texts: tuple[str, ...]) -> None:
    built = cases()[f"case-{number}"].attempt()
    messages = [problem.message for problem in built.problems]
    if not texts:
        assert messages == []
        return
    # One mistake, one problem, and kro's words in it.
    assert len(messages) == 1
    for text in texts:
        assert text in messages[0]


def graph_of(number: str) -> Graph:
    graph = cases()[f"case-{number}"].attempt().graph
    assert graph is not None
    return graph


def fields_of(number: str, node: str) -> dict[str, tuple[str, FieldKind]]:
    return {
        format_path(item.path): (item.expression.text, item.kind)
        for item in graph_of(number).nodes[node].fields
    }


def needs(graph: Graph) -> dict[str, list[str]]:
    return {n.id: [d.id for d in n.dependencies] for n in graph.nodes.values() if n.dependencies}


def status_schema(number: str) -> dict[str, Any]:
    schema = graph_of(number).crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    properties: dict[str, Any] = schema["properties"]["status"]["properties"]
    return properties


def test_057_a_string_template_is_one_static_concatenation() -> None:
    expected = '"k-" + (schema.spec.s) + "-" + (schema.spec.s)'
    assert fields_of("057", "cm")["metadata.name"] == (expected, FieldKind.STATIC)


def test_074_paths_below_a_free_field_have_indices() -> None:
    assert {"spec.blob.a[0]", "spec.blob.a[1]"} <= fields_of("074", "g").keys()


def test_083_a_literal_expression_evaluates_to_its_text() -> None:
    field = next(f for f in graph_of("083").nodes["cm"].fields if f.path[0] == "data")
    assert field.expression.program.evaluate({}) == "echo ${HOME}"


def test_084_a_dollar_before_an_expression_is_text() -> None:
    assert fields_of("084", "cm")["data.a"][0] == '"$" + (schema.spec.s)'


def test_086_a_key_with_a_dot_is_printed_in_brackets() -> None:
    assert 'metadata.annotations["x.io/y"]' in fields_of("086", "cm")


def test_088_the_order_and_the_dependencies() -> None:
    graph = graph_of("088")
    assert graph.order == ("c", "d", "b", "a")
    assert needs(graph) == {"d": ["c"], "a": ["d"]}


def test_092_a_shadowed_node_is_no_dependency() -> None:
    assert needs(graph_of("092")) == {}


def test_096_a_collection_is_one() -> None:
    graph = graph_of("096")
    (node,) = (n for n in graph.nodes.values() if n.for_each)
    assert node.kind is NodeKind.COLLECTION
    assert fields_of("096", node.id)["metadata.name"][1] is FieldKind.ITERATION


@pytest.mark.parametrize("number", ["104b", "104c", "105"])
def test_who_reads_a_collection_depends_on_it(number: str) -> None:
    assert ["c"] in needs(graph_of(number)).values()


def test_107_who_reads_a_selector_reference_depends_on_it() -> None:
    assert needs(graph_of("107")) == {"cm": ["cfgs"]}


def test_108_an_expression_in_a_selector_has_its_path() -> None:
    found = {p for n in graph_of("108").nodes for p in fields_of("108", n)}
    assert "metadata.selector.matchExpressions[0].values[0]" in found


STRING = {"type": "string"}


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        pytest.param(
            "112",
            {
                "p": STRING,
                "t": {"type": "integer"},
                "ns": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"kind": STRING, "state": STRING}},
                },
            },
            id="112 scalars and lists",
        ),
        pytest.param("113", {"u": STRING}, id="113 a template"),
        pytest.param(
            "115",
            {"net": {"type": "object", "properties": {"ips": {"type": "array", "items": STRING}}}},
            id="115 nested paths",
        ),
        pytest.param(
            "116",
            {
                "q": {
                    "description": "unknown CEL type: optional_type(string)",
                    "x-kubernetes-preserve-unknown-fields": True,
                }
            },
            id="116 an optional",
        ),
        pytest.param("117", {"q": {"type": "object"}}, id="117 a free object"),
        pytest.param("122", {"h": STRING}, id="122 no resources"),
        pytest.param("123", {"k": {"type": "array", "items": STRING}}, id="123 a collection"),
    ],
)
def test_the_status_schema_is_inferred(number: str, expected: dict[str, Any]) -> None:
    found = status_schema(number)
    assert {name: found[name] for name in expected} == expected


def test_118_a_timestamp_is_a_date_time() -> None:
    found = status_schema("118")["w"]
    assert (found["type"], found["format"]) == ("string", "date-time")


def test_120_an_empty_object_leaves_no_schema() -> None:
    assert status_schema("120").keys() == {"state", "conditions"}


def test_131_the_crd_is_named_by_the_plural_of_its_kind() -> None:
    crd = graph_of("131").crd
    assert crd["metadata"]["name"] == "gatewaypolicies.edge.example.org"
    assert crd["spec"]["names"]["singular"] == "gatewaypolicy"
    assert crd["spec"]["names"]["listKind"] == "GatewayPolicyList"


@pytest.mark.parametrize(
    ("number", "columns"), [("132a", ["State", "Ready", "Age"]), ("132b", ["Size"])]
)
def test_132_an_authors_printer_columns_replace_the_default(
    number: str, columns: list[str]
) -> None:
    version = graph_of(number).crd["spec"]["versions"][0]
    assert [column["name"] for column in version["additionalPrinterColumns"]] == columns


def test_every_number_is_covered() -> None:
    numbers = {int(number[:3]) for number in CASES}
    assert numbers == {*range(36, 133), 144, 145}
