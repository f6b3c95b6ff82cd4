from kube_objects.refs import Kind
from kube_objects.schemas import KindSchema, LayeredSchemas, SchemaSet

WIDGET = Kind("example.com", "v1", "Widget")
GADGET = Kind("example.com", "v1", "Gadget")


def known(kind: Kind, plural: str = "things") -> KindSchema:
    return KindSchema(kind, plural, True, {"type": "object"})


def test_a_set_answers_for_what_was_added() -> None:
    widget = known(WIDGET)
    kinds = SchemaSet()
    kinds.add(widget)
    assert kinds.schema_of(WIDGET) is widget
    assert kinds.schema_of(GADGET) is None


def test_a_kind_added_again_replaces_the_former() -> None:
    kinds = SchemaSet([known(WIDGET, "old"), known(GADGET)])
    kinds.add(known(WIDGET, "new"))
    found = kinds.schema_of(WIDGET)
    assert found is not None
    assert found.plural == "new"
    assert list(kinds.kinds()) == [WIDGET, GADGET]


def test_the_first_source_that_knows_a_kind_answers() -> None:
    first = SchemaSet([known(WIDGET, "first")])
    second = SchemaSet([known(WIDGET, "second"), known(GADGET, "second")])
    both = LayeredSchemas(first, second)
    plurals = {kind: found.plural for kind in (WIDGET, GADGET) if (found := both.schema_of(kind))}
    assert plurals == {WIDGET: "first", GADGET: "second"}


def test_a_kind_nobody_knows_is_none() -> None:
    assert LayeredSchemas(SchemaSet(), SchemaSet()).schema_of(WIDGET) is None
    assert LayeredSchemas().schema_of(WIDGET) is None


def test_layers_see_what_is_added_later() -> None:
    kinds = SchemaSet()
    layered = LayeredSchemas(kinds)
    kinds.add(known(WIDGET))
    assert layered.schema_of(WIDGET) is not None


def test_a_kind_prints_without_its_schema() -> None:
    assert "object" not in repr(known(WIDGET))
