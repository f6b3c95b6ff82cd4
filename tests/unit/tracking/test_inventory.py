from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kro_gitops.tracking import inventory as module
from kro_gitops.tracking.inventory import Entry, Inventory, key_of, parse_entries
from kube_objects.refs import Kind, ObjectRef

CONFIG_MAP = Kind("", "v1", "ConfigMap")


def ref(name: str, kind: Kind = CONFIG_MAP) -> ObjectRef:
    return ObjectRef(kind, "shop", name)


def entry(name: str, uid: str = "u1", **more: str) -> Entry:
    return Entry(ref(name), uid, **more)


class Shards:
    """What a cluster would hold, if it were written to."""

    def __init__(self) -> None:
        self.held: dict[int, dict[str, Any]] = {}

    def write(self, inventory: Inventory) -> None:
        for number, changes in inventory.changes().items():
            shard = self.held.setdefault(number, {})
            for key, value in changes.items():
                if value is None:
                    shard.pop(key, None)
                else:
                    shard[key] = value
            inventory.written(number)

    def load(self) -> Inventory:
        return Inventory.of({n: tuple(parse_entries(each)) for n, each in self.held.items()})


def test_an_entry_is_read_as_it_was_written() -> None:
    made = entry("front", hash="abc", stage="OBJECTS", path="a/b.yaml", revision="f" * 40)
    inventory = Inventory()
    inventory.put(made)
    assert inventory.changes() == {
        0: {
            "/ConfigMap/shop/front": {
                "version": "v1",
                "uid": "u1",
                "hash": "abc",
                "stage": "OBJECTS",
                "path": "a/b.yaml",
                "revision": "f" * 40,
            }
        }
    }
    shards = Shards()
    shards.write(inventory)
    assert list(shards.load()) == [made]
    assert inventory.changes() == {}


def test_names_of_roles_may_hold_slashes_nowhere_else_may_one_stand() -> None:
    role = Kind("rbac.authorization.k8s.io", "v1", "ClusterRole")
    made = Entry(ObjectRef(role, "", "system:a:b"), "u")
    [read] = parse_entries({"/".join(made.key): made.to_json()})
    assert read == made
    assert list(parse_entries({"nonsense": {}, "a/b/c/d": "text"})) == []
    assert list(parse_entries("nothing")) == []


def test_an_object_is_the_same_in_another_version() -> None:
    old, new = Kind("apps", "v1beta1", "Deployment"), Kind("apps", "v1", "Deployment")
    inventory = Inventory()
    inventory.put(Entry(ref("front", old), "u"))
    inventory.put(Entry(ref("front", new), "u"))
    assert len(inventory) == 1
    found = inventory.find(key_of(ref("front", old)))
    assert found is not None
    assert found.ref.kind.version == "v1"


def test_what_does_not_change_is_not_written() -> None:
    inventory = Inventory()
    inventory.put(entry("front"))
    inventory.written(0)
    inventory.put(entry("front"))
    assert inventory.changes() == {}
    inventory.drop(key_of(ref("absent")))
    assert inventory.changes() == {}


def test_a_full_shard_is_followed_by_another_and_entries_stay_where_they_are() -> None:
    size = module.SHARD_SIZE
    inventory = Inventory()
    for number in range(size + 1):
        inventory.put(entry(f"n{number}"))
    assert {n: len(each) for n, each in inventory.changes().items()} == {0: size, 1: 1}
    for number in (0, 1):
        inventory.written(number)
    inventory.put(entry("n0", uid="other"))
    assert list(inventory.changes()) == [0]
    inventory.written(0)
    inventory.drop(key_of(ref("n1")))
    inventory.put(entry("new"))
    assert list(inventory.changes()) == [0]  # there is room again


_NAMES = st.sampled_from([f"n{number}" for number in range(8)])
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), _NAMES, st.sampled_from("abc")),
        st.tuples(st.just("drop"), _NAMES, st.just("")),
        st.tuples(st.just("write"), st.just(""), st.just("")),
    ),
    max_size=40,
)


@given(_STEPS)
def test_what_is_written_is_what_is_held(steps: list[tuple[str, str, str]]) -> None:
    before, module.SHARD_SIZE = module.SHARD_SIZE, 3
    try:
        inventory, shards = Inventory(), Shards()
        for step, name, uid in steps:
            match step:
                case "put":
                    inventory.put(entry(name, uid))
                case "drop":
                    inventory.drop(key_of(ref(name)))
                case _:
                    shards.write(inventory)
        shards.write(inventory)
        assert set(shards.load()) == set(inventory)
        assert all(len(each) <= 3 for each in shards.held.values())
    finally:
        module.SHARD_SIZE = before


def test_a_shard_that_was_lost_can_be_written_whole() -> None:
    kind = Kind("", "v1", "ConfigMap")
    made = Inventory.of({0: [Entry(ObjectRef(kind, "n", "a"), "u1")]})
    made.put(Entry(ObjectRef(kind, "n", "b"), "u2"))
    assert set(made.on_shard(0)) == {"/ConfigMap/n/a", "/ConfigMap/n/b"}
    assert made.on_shard(0)["/ConfigMap/n/a"] == {"version": "v1", "uid": "u1"}
    assert made.on_shard(1) == {}
