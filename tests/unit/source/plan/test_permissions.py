from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kro_gitops.source.api.types import EVERYTHING, Allow
from kro_gitops.source.plan.permissions import child_rejection, matches, rejection
from kube_objects.refs import Kind, ObjectRef

HOME = "team-a"
CLOSED = Allow()

CONFIG_MAP = Kind("", "v1", "ConfigMap")
NAMESPACE = Kind("", "v1", "Namespace")
DEPLOYMENT = Kind("apps", "v1", "Deployment")
ROLE = Kind("rbac.authorization.k8s.io", "v1", "Role")
CLUSTER_ROLE = Kind("rbac.authorization.k8s.io", "v1", "ClusterRole")
SOURCE = Kind("gitops.kro.run", "v1alpha1", "GitSource")
REVISION = Kind("internal.kro.run", "v1alpha1", "GraphRevision")
DEFINITION = Kind("kro.run", "v1alpha1", "ResourceGraphDefinition")
WEB_APP = Kind("kro.run", "v1alpha1", "WebApp")


def at(kind: Kind, namespace: str = HOME, name: str = "x") -> ObjectRef:
    return ObjectRef(kind, namespace, name)


def refused(allow: Allow, ref: ObjectRef, **facts: Any) -> str:
    told = {"namespaced": bool(ref.namespace), "is_definition": False, "is_instance": False}
    return rejection(allow, HOME, ref, **{**told, **facts})


def test_a_source_may_write_into_its_own_namespace() -> None:
    assert refused(CLOSED, at(CONFIG_MAP)) == ""
    assert refused(CLOSED, at(CONFIG_MAP, ""), namespaced=True) == ""


def test_its_own_namespace_stays_open_when_others_are_listed() -> None:
    assert refused(Allow(namespaces=("prod",)), at(CONFIG_MAP)) == ""


def test_another_namespace_must_be_listed() -> None:
    said = refused(Allow(namespaces=("dev-*",)), at(CONFIG_MAP, "prod"))
    assert "ConfigMap prod/x is in namespace prod" in said
    assert 'allow.namespaces: ["dev-*", prod]' in said
    assert refused(Allow(namespaces=("dev-*", "prod")), at(CONFIG_MAP, "prod")) == ""
    assert refused(Allow(namespaces=("dev-*",)), at(CONFIG_MAP, "dev-1")) == ""


@pytest.mark.parametrize("kind", [NAMESPACE, Kind("storage.k8s.io", "v1", "StorageClass")], ids=str)
def test_cluster_scoped_objects_must_be_opened(kind: Kind) -> None:
    assert "allow.clusterScoped: true" in refused(CLOSED, at(kind, ""))
    assert "cluster-scoped" in refused(Allow(namespaces=("*",)), at(kind, ""))
    assert refused(Allow(cluster_scoped=True), at(kind, "")) == ""


def test_definitions_have_a_door_of_their_own() -> None:
    ref = at(DEFINITION, "")
    closed = Allow(namespaces=("*",), kinds=("*",), cluster_scoped=True)
    assert "allow.rgds: true" in refused(closed, ref, is_definition=True)
    assert refused(Allow(rgds=True, kinds=("ConfigMap",)), ref, is_definition=True) == ""


def test_an_empty_list_of_kinds_means_any() -> None:
    assert refused(CLOSED, at(DEPLOYMENT)) == ""


def test_kinds_that_are_listed_are_all_that_is_open() -> None:
    allow = Allow(kinds=("ConfigMap", "*.apps"))
    assert refused(allow, at(CONFIG_MAP)) == ""
    assert refused(allow, at(DEPLOYMENT)) == ""
    said = refused(allow, at(Kind("batch", "v1", "Job")))
    assert 'allow.kinds: [ConfigMap, "*.apps", Job.batch]' in said


def test_a_kind_of_the_core_group_has_no_dot() -> None:
    assert refused(Allow(kinds=("ConfigMap",)), at(Kind("evil.io", "v1", "ConfigMap"))) != ""


def test_generated_kinds_are_opened_by_instances_of() -> None:
    allow = Allow(kinds=("ConfigMap",), instances_of=("WebApp.kro.run",))
    assert refused(allow, at(WEB_APP), is_instance=True) == ""
    other = refused(allow, at(Kind("kro.run", "v1alpha1", "Database")), is_instance=True)
    assert "allow.instancesOf: [WebApp.kro.run, Database.kro.run]" in other


def test_without_instances_of_they_are_kinds_like_others() -> None:
    assert refused(CLOSED, at(WEB_APP), is_instance=True) == ""
    said = refused(Allow(kinds=("ConfigMap",)), at(WEB_APP), is_instance=True)
    assert "allow.kinds: [ConfigMap, WebApp.kro.run]" in said


def test_an_instance_elsewhere_needs_its_namespace_too() -> None:
    allow = Allow(instances_of=("*",))
    assert "allow.namespaces" in refused(allow, at(WEB_APP, "prod"), is_instance=True)


@pytest.mark.parametrize("kinds", [(), ("*",), ("*Role*",), ("*.k8s.io",), ("R*",), ("????.*",)])
def test_rights_are_not_opened_by_accident(kinds: tuple[str, ...]) -> None:
    allow = Allow(kinds=kinds, cluster_scoped=True)
    assert "must be named" in refused(allow, at(ROLE))
    assert "must be named" in refused(allow, at(CLUSTER_ROLE, ""))


@pytest.mark.parametrize("glob", ["Role.rbac.authorization.k8s.io", "*.rbac.authorization.k8s.io"])
def test_rights_are_opened_by_their_name(glob: str) -> None:
    assert refused(Allow(kinds=("*", glob)), at(ROLE)) == ""


def test_what_would_open_rights_keeps_other_kinds_open() -> None:
    said = refused(CLOSED, at(ROLE))
    assert 'allow.kinds: ["*", Role.rbac.authorization.k8s.io]' in said


@pytest.mark.parametrize("kind", [SOURCE, REVISION], ids=str)
def test_a_source_with_limits_never_writes_what_decides_about_limits(kind: Kind) -> None:
    named = Allow(("*",), (f"{kind.kind}.{kind.group}", f"*.{kind.group}"), cluster_scoped=True)
    assert "decides what others may do" in refused(named, at(kind))
    assert "clusterScoped: true, rgds: true" in refused(CLOSED, at(kind))


@pytest.mark.parametrize("kind", [SOURCE, ROLE, CONFIG_MAP, WEB_APP], ids=str)
def test_everything_is_everything(kind: Kind) -> None:
    for namespace in (HOME, "kube-system", ""):
        assert refused(EVERYTHING, at(kind, namespace)) == ""
        assert child_rejection(EVERYTHING, HOME, at(kind, namespace), bool(namespace)) == ""
    assert refused(EVERYTHING, at(DEFINITION, ""), is_definition=True) == ""


def test_children_keep_to_the_namespaces_of_their_source() -> None:
    assert child_rejection(CLOSED, HOME, at(DEPLOYMENT), True) == ""
    assert "allow.namespaces: [prod]" in child_rejection(CLOSED, HOME, at(DEPLOYMENT, "prod"), True)
    assert "clusterScoped" in child_rejection(CLOSED, HOME, at(NAMESPACE, ""), False)


def test_kinds_of_children_are_chosen_by_the_definitions_author() -> None:
    allow = Allow(kinds=("ConfigMap",), instances_of=("WebApp.kro.run",))
    assert child_rejection(allow, HOME, at(DEPLOYMENT), True) == ""
    assert child_rejection(allow, HOME, at(ROLE), True) == ""


def test_a_source_that_brings_definitions_cannot_hide_kinds_in_them() -> None:
    allow = Allow(rgds=True)
    assert child_rejection(allow, HOME, at(DEPLOYMENT), True) == ""
    assert "must be named" in child_rejection(allow, HOME, at(ROLE), True)
    assert "decides" in child_rejection(allow, HOME, at(SOURCE), True)
    listed = Allow(rgds=True, kinds=("ConfigMap",))
    assert "allow.kinds" in child_rejection(listed, HOME, at(DEPLOYMENT), True)


def test_a_child_that_is_a_definition_needs_the_door_of_definitions() -> None:
    allow = Allow(cluster_scoped=True)
    assert "allow.rgds: true" in child_rejection(allow, HOME, at(DEFINITION, ""), False)
    assert child_rejection(Allow(rgds=True), HOME, at(DEFINITION, ""), False) == ""


@pytest.mark.parametrize(
    ("glob", "text", "fits"),
    [
        ("team-*", "team-a", True),
        ("team-*", "team-", True),
        ("team-*", "my-team-a", False),
        ("team-?", "team-a", True),
        ("team-?", "team-ab", False),
        ("[a-z]", "b", False),
        ("[a-z]", "[a-z]", True),
        ("team", "Team", False),
        ("a.c", "abc", False),
        ("*", "", True),
        ("", "", True),
        ("", "a", False),
        ("a*\n", "ab", False),
    ],
)
def test_globs_know_two_signs_and_match_whole(glob: str, text: str, fits: bool) -> None:
    assert matches(text, (glob,)) is fits


@pytest.mark.timeout(5)
def test_a_glob_of_many_stars_takes_no_time() -> None:
    assert not matches("a" * 250, ("*a" * 60 + "b",))


_KINDS = st.builds(
    Kind,
    st.sampled_from(["", "apps", "kro.run", "gitops.kro.run", "rbac.authorization.k8s.io"]),
    st.just("v1"),
    st.sampled_from(["ConfigMap", "Role", "GitSource", "WebApp", "Namespace"]),
)


@given(
    kind=_KINDS, namespace=st.sampled_from(["", HOME, "prod", "kube-system"]), flag=st.booleans()
)
def test_closed_by_default(kind: Kind, namespace: str, flag: bool) -> None:
    said = refused(CLOSED, at(kind, namespace), is_instance=flag)
    harmless = kind.group not in ("gitops.kro.run", "rbac.authorization.k8s.io")
    assert (said == "") == (namespace == HOME and harmless)


@given(
    kind=_KINDS,
    namespace=st.sampled_from(["", HOME, "prod"]),
    kinds=st.lists(st.text("*?ConfigMapRole.rbackowithz8s", max_size=12), max_size=3),
)
def test_globs_of_kinds_never_open_a_place(kind: Kind, namespace: str, kinds: list[str]) -> None:
    if namespace != HOME:
        assert refused(Allow(kinds=tuple(kinds)), at(kind, namespace)) != ""


@given(kind=_KINDS, namespace=st.sampled_from(["", HOME, "prod"]))
def test_the_line_that_is_told_opens_what_it_is_told_for(kind: Kind, namespace: str) -> None:
    ref = at(kind, namespace)
    allow = CLOSED
    for _ in range(3):
        said = refused(allow, ref)
        if not said:
            break
        allow = _obeyed(allow, said)
    assert refused(allow, ref) == ""


def _obeyed(allow: Allow, said: str) -> Allow:
    line = said.partition("to allow it: ")[2]
    if line.startswith("allow: {"):
        return EVERYTHING
    setting, _, value = line.removeprefix("allow.").partition(": ")
    if setting == "clusterScoped":
        return Allow(allow.namespaces, allow.kinds, cluster_scoped=True)
    listed = tuple(each.strip(' "') for each in value.strip("[]").split(","))
    if setting == "namespaces":
        return Allow(listed, allow.kinds, allow.cluster_scoped)
    assert setting == "kinds"
    return Allow(allow.namespaces, listed, allow.cluster_scoped)
