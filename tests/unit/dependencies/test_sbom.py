import json

from kro_gitops import __version__
from tools.dependencies.locks import lock_path, parse_lock
from tools.dependencies.sbom import MARKER, bill_of_materials

LOCK = lock_path("install").read_text(encoding="utf-8")
OURS = {"kro-gitops", "kube-objects", "kube-cel", "kube-sandbox"}


def test_it_lists_everything_that_is_installed() -> None:
    bom = json.loads(bill_of_materials(LOCK))
    assert (bom["bomFormat"], bom["specVersion"]) == ("CycloneDX", "1.6")
    product = bom["metadata"]["component"]
    assert (product["name"], product["version"]) == ("kro-gitops", __version__)
    pins = {pin.name: pin for pin in parse_lock(LOCK)}
    components = {component["name"]: component for component in bom["components"]}
    assert set(components) == {*pins, *OURS} - {"kro-gitops"}
    for name, pin in pins.items():
        component = components[name]
        assert component["purl"] == f"pkg:pypi/{name}@{pin.version}"
        hashes = {f"sha256:{each['content']}" for each in component["hashes"]}
        assert hashes == set(pin.hashes)
        markers = {each["value"] for each in component.get("properties", ())}
        assert markers == ({pin.marker} if pin.marker else set()), MARKER


def test_it_says_what_requires_what() -> None:
    bom = json.loads(bill_of_materials(LOCK))
    edges = {each["ref"]: set(each.get("dependsOn", ())) for each in bom["dependencies"]}
    by_name = {ref.partition("==")[0]: targets for ref, targets in edges.items()}
    assert f"kube-cel=={__version__}" in by_name["kro-gitops"]
    assert f"kube-objects=={__version__}" in by_name["kube-cel"]
    assert {ref.partition("==")[0] for ref in by_name["gitpython"]} == {"gitdb"}
    # Everything is reached from the product.
    reached: set[str] = set()
    todo = [f"kro-gitops=={__version__}"]
    while todo:
        ref = todo.pop()
        if ref not in reached:
            reached.add(ref)
            todo.extend(edges[ref])
    assert reached == set(edges)


def test_the_same_lock_gives_the_same_bytes() -> None:
    assert bill_of_materials(LOCK) == bill_of_materials(LOCK)
    changed = LOCK.replace("rich==15", "rich==14")
    first, second = (json.loads(bill_of_materials(text)) for text in (LOCK, changed))
    assert first["serialNumber"] != second["serialNumber"]
    assert "timestamp" not in first["metadata"]
