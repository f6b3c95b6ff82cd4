"""Renderings as text and files: names from manifests do no harm."""

from pathlib import Path

import pytest
import yaml

from kro_gitops.preview.output import as_yaml, file_name
from kro_gitops.preview.render import Child, Rendering
from kube_objects.refs import ObjectRef
from tests.builders import config_map, instance

EVIL = ["../../../evil", "/etc/evil", "..", ".", "a/../../b", "x\n---\nkind: Evil", "\x1b[31m", ""]


def named(name: str) -> Rendering:
    owner = ObjectRef.of(instance(name=name, namespace=name))
    return Rendering(owner, children=[Child("cm", config_map(name))])


@pytest.mark.parametrize("name", EVIL, ids=map(repr, EVIL))
def test_no_name_leads_out_of_the_folder(name: str, tmp_path: Path) -> None:
    rendering = named(name)
    path = tmp_path / file_name(rendering, rendering.children[0], 1)
    assert path.resolve() == path
    assert path.parents[2] == tmp_path


@pytest.mark.parametrize("name", EVIL, ids=map(repr, EVIL))
def test_an_evil_name_cannot_add_a_document(name: str) -> None:
    text = as_yaml(named(name))
    (found,) = [each for each in yaml.safe_load_all(text) if each]
    assert found["metadata"]["name"] == name
    assert "\x1b" not in text


def test_a_long_name_makes_a_file_all_the_same(tmp_path: Path) -> None:
    rendering = named("x" * 5000)
    path = tmp_path / file_name(rendering, rendering.children[0], 1)
    path.parent.mkdir(parents=True)
    path.write_text("")
