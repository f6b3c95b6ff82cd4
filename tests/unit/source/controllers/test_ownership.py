"""As whom an instance is reconciled: in doubt as nobody, never as the controller."""

from collections.abc import Mapping
from typing import cast

import pytest

from kro_gitops.errors import KroGitopsError, NotServed, NotYet, Unavailable
from kro_gitops.kube.api import Cluster
from kro_gitops.metadata import (
    INSTANCE_GROUP,
    INSTANCE_KIND,
    INSTANCE_NAME,
    INSTANCE_NAMESPACE,
    INSTANCE_VERSION,
    OWNED,
    SOURCE,
    SOURCE_HASH,
    SOURCE_NAME,
)
from kro_gitops.source.api.parse import Defaults, read_spec
from kro_gitops.source.api.resources import GIT_SOURCE_KIND, SOURCE_INVENTORY_KIND
from kro_gitops.source.controllers.inventories import packed_entries
from kro_gitops.source.controllers.ownership import AccountRules, Ownership, SourceRecords
from kro_gitops.source.controllers.state import SourceState, SourceStore
from kro_gitops.tracking.inventory import Entry, Inventory
from kube_objects.errors import RefusedError
from kube_objects.refs import Kind, KubeObject, ObjectRef

DOLL = Kind("kro.run", "v1", "Doll")
ELSEWHERE = ObjectRef(Kind("", "v1", "ConfigMap"), "kube-system", "loot")
AT_HOME = ObjectRef(Kind("", "v1", "ConfigMap"), "team", "own")
UID = "5d0e"


def doll(
    number: int = 0,
    within: int | None = None,
    *,
    source: str = "",
    namespace: str = "team",
    uid: str = UID,
) -> KubeObject:
    labels = {}
    if within is not None:
        labels = {
            OWNED: "true",
            INSTANCE_GROUP: DOLL.group,
            INSTANCE_VERSION: DOLL.version,
            INSTANCE_KIND: DOLL.kind,
            INSTANCE_NAME: f"doll-{within}",
            INSTANCE_NAMESPACE: "team",
        }
    metadata: KubeObject = {"name": f"doll-{number}", "uid": uid, "labels": labels}
    if namespace:
        metadata["namespace"] = namespace
    if source:
        metadata["annotations"] = {SOURCE: source}
        labels[SOURCE_HASH] = "abc"
    return {"apiVersion": DOLL.api_version, "kind": DOLL.kind, "metadata": metadata}


class Parents:
    """A lineage in which these instances confirm their children, and others are not known yet."""

    def __init__(self, *seen: KubeObject, denied: tuple[int, ...] = ()) -> None:
        self._seen = {ObjectRef.of(each): each for each in seen}
        self._denied = {f"doll-{number}" for number in denied}

    def parent_of(self, child: KubeObject, parent: ObjectRef) -> KubeObject | None:
        if child["metadata"]["name"] in self._denied:
            return None
        if parent not in self._seen:
            raise NotYet("owner-unknown", f"{parent} is not planned yet")
        return self._seen[parent]


def git_source(name: str = "team/shop", account: str = "deployer") -> KubeObject:
    namespace, _, bare = name.partition("/")
    spec = {"url": "https://git.example.com/shop.git"}
    if account:
        spec["serviceAccountName"] = account
    return {
        "apiVersion": GIT_SOURCE_KIND.api_version,
        "kind": GIT_SOURCE_KIND.kind,
        "metadata": {"name": bare, "namespace": namespace, "uid": "s", "resourceVersion": "1"},
        "spec": spec,
    }


def records(
    watched: Mapping[str, tuple[Entry, ...]] | None = None,
    unwatched: Mapping[str, tuple[Entry, ...]] | None = None,
    account: str = "deployer",
    default: str = "",
    problem: KroGitopsError | None = None,
) -> SourceRecords:
    """Give the sources that this process reconciles, and those that it only knows."""
    defaults = Defaults(default)
    store = SourceStore(default)
    made = SourceRecords(cast("Cluster", None), store, defaults)
    made.sources.problem = problem or NotServed("not-served", "no GitSources")
    for name, entries in (watched or {}).items():
        source = git_source(name, account)
        inventory = Inventory.of({0: entries})
        store.put(
            SourceState(ObjectRef.of(source), source, inventory, spec=read_spec(source, defaults))
        )
    for name, entries in (unwatched or {}).items():
        source = git_source(name, account)
        made.sources.record_write(source)
        namespace, _, bare = name.partition("/")
        shard = {
            "apiVersion": SOURCE_INVENTORY_KIND.api_version,
            "kind": SOURCE_INVENTORY_KIND.kind,
            "metadata": {
                "name": f"{bare}-0",
                "namespace": namespace,
                "labels": {SOURCE_NAME: bare},
                "resourceVersion": "1",
            },
            "entries": {"/".join(entry.key): entry.to_json() for entry in entries},
        }
        made.inventories.informer.record_write(packed_entries(shard))
    return made


def entry_of(instance: KubeObject, uid: str = UID) -> Entry:
    return Entry(ObjectRef.of(instance), uid)


def user_of(
    instance: KubeObject,
    known: SourceRecords,
    lineage: Parents | None = None,
    rules: AccountRules | None = None,
) -> str:
    """Return the user that acts for an instance; empty for the controller."""
    decided = Ownership(known, rules or AccountRules()).authority_of(instance, lineage or Parents())
    return decided.identity.user if decided.identity is not None else ""


TENANT = "system:serviceaccount:team:deployer"
SHOP = {"team/shop": (entry_of(doll()),)}


@pytest.mark.parametrize("known", [records(SHOP), records(unwatched=SHOP)])
def test_an_instance_of_a_source_acts_as_its_account_within_its_limits(
    known: SourceRecords,
) -> None:
    decided = Ownership(known, AccountRules()).authority_of(doll(source="team/shop"), Parents())
    assert decided.identity is not None
    assert decided.identity.user == TENANT
    assert "kube-system" in decided.rejection_of(ELSEWHERE)
    assert decided.rejection_of(AT_HOME) == ""


@pytest.mark.parametrize("depth", [1, 2, 17, 40])
def test_however_deep_it_is_an_instance_is_its_source_s(depth: int) -> None:
    dolls = [doll(0, source="team/shop"), *(doll(n, n - 1) for n in range(1, depth + 1))]
    assert user_of(dolls[-1], records(SHOP), Parents(*dolls)) == TENANT


def test_a_forged_annotation_does_not_lead_to_another_source() -> None:
    known = records({**SHOP, "platform/infra": ()}, account="")
    instance = doll(source="platform/infra")
    assert user_of(instance, known) == ""  # team/shop records its uid, and names no account
    other = doll(source="platform/infra", uid="another")
    with pytest.raises(RefusedError, match="platform/infra"):
        user_of(other, known)


def test_a_forged_inventory_does_not_take_an_instance_of_another_source() -> None:
    forged = {"evil/x": (entry_of(doll()),)}
    known = records({**forged, **SHOP})
    assert user_of(doll(source="team/shop"), known) == TENANT


def test_a_forged_inventory_does_not_take_an_instance_that_was_created_by_hand() -> None:
    assert user_of(doll(), records({"evil/x": (entry_of(doll()),)})) == ""


def test_a_forged_inventory_does_not_take_a_nested_instance() -> None:
    outer, nested = doll(0, source="team/shop"), doll(1, 0, uid="nested")
    sourced = doll(1, 0, source="team/shop", uid="nested")  # children carry it, too
    forged = {"evil/x": (entry_of(nested, "nested"),)}
    for each in (nested, sourced):
        assert user_of(each, records({**forged, **SHOP}), Parents(outer)) == TENANT
    assert user_of(nested, records(forged), Parents(doll())) == ""


def test_a_forged_inventory_does_not_take_an_orphaned_instance() -> None:
    """The source that lists it may not write to its namespace, so it has not applied it."""
    orphan = doll(source="team/gone")
    forged = records({"evil/x": (entry_of(orphan),)}, default="robot")
    found = user_of(orphan, forged, rules=AccountRules("robot"))
    assert found == "system:serviceaccount:team:robot"


@pytest.mark.parametrize("known", [records(), records({"team/other": ()})])
def test_an_orphaned_instance_is_not_reconciled_as_the_controller(known: SourceRecords) -> None:
    with pytest.raises(RefusedError, match="team/gone") as caught:
        user_of(doll(source="team/gone"), known)
    assert caught.value.code == "unknown-owner"
    assert "--default-service-account" in caught.value.hint


def test_an_orphaned_instance_falls_back_to_the_default_account_of_its_namespace() -> None:
    rules = AccountRules("robot")
    found = user_of(doll(source="team/gone"), records(default="robot"), rules=rules)
    assert found == "system:serviceaccount:team:robot"


def test_the_default_account_acts_for_instances_without_a_source() -> None:
    rules = AccountRules("robot", controller_namespace="system")
    known = records(default="robot")
    assert user_of(doll(), known, rules=rules) == "system:serviceaccount:team:robot"
    nested = doll(1, 0)
    assert user_of(nested, known, Parents(doll()), rules) == "system:serviceaccount:team:robot"
    wide = doll(namespace="")
    assert user_of(wide, known, rules=rules) == "system:serviceaccount:system:robot"


def test_a_cluster_scoped_instance_needs_a_namespace_for_its_default_account() -> None:
    with pytest.raises(RefusedError, match="cluster-scoped"):
        user_of(doll(namespace=""), records(default="robot"), rules=AccountRules("robot"))


def test_a_nested_instance_waits_for_the_plan_of_its_parent() -> None:
    with pytest.raises(NotYet):
        user_of(doll(2, 1), records(SHOP), Parents(doll(0)))


def test_labels_of_a_parent_that_does_not_desire_it_give_no_rights() -> None:
    parent = doll(0, source="team/shop")
    with pytest.raises(RefusedError, match="doll-0"):
        user_of(doll(1, 0), records(SHOP), Parents(parent, denied=(1,)))


def test_labels_that_lead_in_a_circle_give_no_rights() -> None:
    circle = [doll(1, 2), doll(2, 1)]
    with pytest.raises(RefusedError):
        user_of(circle[0], records(SHOP), Parents(*circle))


def test_the_controller_acts_where_there_is_neither_a_source_nor_a_default_account() -> None:
    assert user_of(doll(2, 1), records()) == ""  # as kro does; no parent is asked for
    assert user_of(doll(uid="by-hand"), records(SHOP)) == ""


def test_sources_that_cannot_be_listed_are_not_taken_for_none() -> None:
    known = records(problem=Unavailable("forbidden", "cannot list gitsources"))
    with pytest.raises(RefusedError, match="team/shop"):
        user_of(doll(source="team/shop"), known)
    assert user_of(doll(), known) == ""


def test_instances_without_a_source_can_be_limited_to_their_namespace() -> None:
    rules = AccountRules(own_namespace_only=True)
    decided = Ownership(records(SHOP), rules).authority_of(doll(uid="by-hand"), Parents())
    assert "--instances-own-namespace-only" in decided.rejection_of(ELSEWHERE)
    assert decided.rejection_of(AT_HOME) == ""
