"""The tenant that misbehaves in benchmarks does what it is said to do."""

import subprocess
import sys
import urllib.request

from benchmarks.tenants import workload
from benchmarks.tenants.memory import Peak, descendants
from benchmarks.tenants.remotes import endless_refs
from kro_gitops.engine.graph.build import try_build
from kro_gitops.source.files.manifests import DEFAULT_SOURCE_LIMITS, read
from kube_objects.builtins.catalog import catalog

_MEMORY = 64 << 20


def test_the_documents_are_as_many_as_a_source_may_have() -> None:
    for number in range(2):
        files = {name: text.encode() for name, text in workload.documents(number).items()}
        assert all(len(text) < DEFAULT_SOURCE_LIMITS.file.file_bytes for text in files.values())
        found = read(files.items(), chosen=True)
        assert len(found.manifests) == workload.DOCUMENTS == DEFAULT_SOURCE_LIMITS.documents
        assert not found.findings


def test_the_slow_definition_has_all_its_expressions() -> None:
    definition = workload.definition("string(schema.spec.size + schema.spec.round)")
    built = try_build(definition, catalog)
    assert built.graph is not None, built.problems
    written = [resource["template"]["data"] for resource in definition["spec"]["resources"]]
    assert sum(map(len, written)) == workload.EXPRESSIONS


def test_endless_refs_begin_as_a_git_server_does_and_go_on() -> None:
    with endless_refs() as address:
        url = f"{address}/x.git/info/refs?service=git-upload-pack"
        with urllib.request.urlopen(url, timeout=30) as answer:
            head, refs = answer.read(34), answer.read(4 << 20)
    assert head == b"001e# service=git-upload-pack\n0000"
    assert refs.count(b" refs/heads/branch-") > 40_000


def test_the_memory_of_a_process_and_what_it_started_is_added() -> None:
    inner = f"import sys; kept = b'x' * {_MEMORY}; print(flush=True); sys.stdin.read()"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", outer], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert len(descendants(process.pid)) == 1
        peak = Peak()
        peak.look(process.pid)
        process.communicate()
    assert peak.total - peak.own > _MEMORY
    assert 0 < peak.own < _MEMORY


def test_a_process_that_has_ended_has_no_memory() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    peak = Peak()
    peak.look(process.pid)
    assert (peak.total, descendants(process.pid)) == (0, [])
