from typing import Any

import pytest

from kro_gitops.engine.plan.evaluation import Bounds
from kro_gitops.preview.rejections import rejections, renderer_of
from kro_gitops.preview.repository import Repository, compile_repository
from kro_gitops.source.files.manifests import read
from kube_objects.builtins.catalog import catalog
from kube_objects.yaml_writer import to_yaml
from tests.builders import config_map, definition, instance, resource


def with_metadata(name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}


COMPUTED_LABELS = with_metadata("x", labels="${schema.spec.labels}")
CLAIM = with_metadata(
    "claimed",
    namespace="elsewhere",
    annotations={"argocd.argoproj.io/tracking-id": "app:/ConfigMap:elsewhere/claimed"},
)
READS_A_STAMP = config_map("x", number="${string(int(cm.metadata.labels['kro.run/node-id']))}")


def repository(*objects: dict[str, Any]) -> Repository:
    files = [(f"{index}.yaml", to_yaml(obj).encode()) for index, obj in enumerate(objects)]
    return compile_repository(read(files), catalog)


@pytest.mark.parametrize(
    ("resources", "code"),
    [
        ([resource("cm", COMPUTED_LABELS)], "reserved-metadata"),
        ([resource("cm", CLAIM)], "KG-T01"),
        ([resource("cm"), resource("other", READS_A_STAMP)], "evaluation-failed"),
        ([resource("one", config_map("x")), resource("two", config_map("x"))], "duplicate-target"),
    ],
)
def test_validate_rejects_what_render_rejects(resources: list[dict[str, Any]], code: str) -> None:
    found = repository(
        definition(*resources, spec={"labels": "map[string]string"}),
        instance({"labels": {"gitops.kro.run/x": "y"}}),
    )
    assert not found.findings
    (manifest, graph), *_ = found.instances
    rendering = renderer_of(found).render(graph, manifest.object, Bounds())
    problems = [finding.problem for finding in rejections(found, Bounds())]
    assert [problem.code for problem in problems] == [code]
    assert [(f.code, f"{rendering.instance}: {f.text}") for f in rendering.failures] == [
        (problem.code, problem.summary) for problem in problems
    ]


def test_two_instances_with_one_child_collide_without_its_stamps() -> None:
    shared = definition(resource("cm", config_map("shared")))
    found = repository(shared, instance(name="one"), instance(name="two"))
    (finding,) = rejections(found, Bounds())
    assert finding.problem.code == "foreign-applyset"
    assert "shared" in finding.problem.summary
