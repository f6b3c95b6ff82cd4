"""Annotations of a definition that the controller would reject."""

import pytest

from kro_gitops.preview.repository import compile_repository
from kro_gitops.source.files.manifests import read
from kube_objects.builtins.catalog import catalog
from kube_objects.yaml_writer import to_yaml
from tests.builders import definition, resource


@pytest.mark.parametrize(
    ("key", "value", "code", "hint"),
    [
        ("readiness", "childern", "invalid-readiness", "did you mean 'children'?"),
        ("readiness", "x", "invalid-readiness", "set kro or children, or remove the annotation"),
        ("drift-added-fields", "kep", "invalid-drift-rules", "did you mean 'keep'?"),
        ("drift-ignore", "- path: [/a]", "invalid-drift-rules", ""),
        ("deletion-policy", "orphan", "invalid-deletion-policy", "did you mean 'Orphan'?"),
    ],
)
def test_a_bad_annotation_is_reported_at_its_line(
    key: str, value: str, code: str, hint: str
) -> None:
    made = definition(resource())
    made["metadata"]["annotations"] = {f"gitops.kro.run/{key}": value}
    text = to_yaml(made)
    (found,) = compile_repository(read([("rgd.yaml", text.encode())]), catalog).findings
    assert found.problem.code == code
    assert hint in found.problem.hint
    line = next(i for i, each in enumerate(text.splitlines(), 1) if f"/{key}:" in each)
    assert found.origin.line in (line, line + 1)


def test_good_annotations_are_accepted() -> None:
    made = definition(resource())
    made["metadata"]["annotations"] = {
        "gitops.kro.run/readiness": "children",
        "gitops.kro.run/drift-added-fields": "keep",
        "gitops.kro.run/drift-ignore": "[{paths: [/spec/replicas]}]",
        "gitops.kro.run/deletion-policy": "Orphan",
    }
    assert not compile_repository(read([("rgd.yaml", to_yaml(made).encode())]), catalog).findings
