"""The repository that sources are measured with."""

import yaml

from benchmarks.engine.workload import unstamped
from benchmarks.source import workload
from kro_gitops.engine.graph.build import build
from kro_gitops.preview.render import render
from kro_gitops.source.files.manifests import read
from kube_objects.builtins.catalog import catalog
from kube_objects.refs import ObjectRef


def test_the_bare_requests_write_what_the_engine_makes() -> None:
    compiled = build(workload.definition(), catalog)
    rendered = render(compiled, workload.instance(7, "hello")).children
    assert [unstamped(each.object) for each in rendered] == [workload.child(7, "hello")]
    assert ObjectRef.of(rendered[0].object) == workload.child_ref(7)


def test_bare_objects_are_nobodys_and_say_the_same() -> None:
    bare = workload.instance(7, "hello", workload.BARE)
    assert bare["spec"] == workload.instance(7, "hello")["spec"]
    assert bare["kind"] == workload.bare_crd()["spec"]["names"]["kind"] != workload.KIND.kind
    assert ObjectRef.of(workload.child(7, "hello", prefix="bare-")) != workload.child_ref(7)


def test_every_instance_has_a_file_of_its_own() -> None:
    files = workload.files(250)
    found = read((name, text.encode()) for name, text in files.items())
    assert not found.findings
    assert len(found.manifests) == len(files) == 251
    assert yaml.safe_load(files[workload.file_of(249)]) == workload.instance(249)
