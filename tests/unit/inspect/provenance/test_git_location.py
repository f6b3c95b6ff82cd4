from typing import Any

from kro_gitops.inspect.provenance.git_location import open_page
from kube_objects.paths import MISSING
from kube_objects.problems import Spot

FILE = b"""\
# Two of a kind.
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: other}
data: {x: "0"}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
data:
  x: "1"
  list: [{k: v}]
---
apiVersion: v1
kind: ConfigMapList
items:
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: b}
    data:
      x: "2"
"""


def live(name: str, namespace: str, **data: Any) -> dict[str, Any]:
    marks = {
        "gitops.kro.run/source": "flux/apps",
        "gitops.kro.run/path": "apps/maps.yaml",
        "gitops.kro.run/revision": "abc",
    }
    metadata = {"name": name, "namespace": namespace, "annotations": marks}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def test_the_document_of_an_object_is_found_by_its_name() -> None:
    assert open_page(live("a", "shop", x="1"), FILE).value_at(("data", "x")) == "1"


def test_one_that_says_its_namespace_comes_before_one_that_does_not() -> None:
    assert open_page(live("a", "other", x="0"), FILE).value_at(("data", "x")) == "0"


def test_an_item_of_a_list_of_objects() -> None:
    place = open_page(live("b", "shop", x="2"), FILE).place(Spot(("data", "x")))
    assert place.file == "apps/maps.yaml:22:10"
    assert place.line is not None
    assert place.line.text == '      x: "2"'
    assert place.subject == "ConfigMap shop/b"
    assert place.note == ""


def test_of_a_map_the_key_is_shown() -> None:
    page = open_page(live("a", "shop", x="1"), FILE)
    assert page.place(Spot(("data",))).file == "apps/maps.yaml:11:1"
    assert page.place(Spot(("data", "list"))).file == "apps/maps.yaml:13:3"


def test_a_field_that_the_file_does_not_have() -> None:
    place = open_page(live("a", "shop", y="1"), FILE).place(Spot(("data", "y")))
    assert place.file == "apps/maps.yaml:11:1"
    assert place.note == "the file does not have this field; this is the nearest above it"


def test_a_field_of_which_the_file_says_something_else() -> None:
    place = open_page(live("a", "shop", x="9"), FILE).place(Spot(("data", "x")))
    assert place.note == "the file says something else here than the cluster"


def test_without_a_text_there_is_file_and_revision() -> None:
    page = open_page(live("a", "shop"), None)
    assert page.value_at(("data",)) is MISSING
    assert page.place(Spot(("data",))).to_json() == {
        "object": "ConfigMap shop/a",
        "field": "data",
        "source": "flux/apps",
        "file": "apps/maps.yaml",
        "revision": "abc",
    }


def test_what_is_hidden_has_a_line_but_no_text() -> None:
    place = open_page(live("a", "shop", x="1"), FILE).place(Spot(("data", "x")), hidden=True)
    assert place.file == "apps/maps.yaml:12:6"
    assert "text" not in place.to_json()


def test_a_file_of_something_else_or_of_nothing() -> None:
    assert open_page(live("c", "shop"), FILE).document is None
    assert open_page(live("a", "shop"), b"\xff\xfe").document is None
    assert open_page({"kind": "ConfigMap", "metadata": {"name": "a"}}, FILE).document is None
