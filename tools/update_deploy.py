"""
Write the parts of `deploy/` and its documentation that are made from something else.

    python -m tools.update_deploy

- `deploy/crds` and the chart's `crds/`, from the program's own CRDs;
- the table of values in `docs/reference/deployment.md`, from the comments in the chart's values;
- `deploy/kustomize`, from the chart with its default values: what is the same in both modes of
  access is the base, the rest an overlay. This needs helm (`tools/kube/build.sh helm`).

Tests compare all of it with what would be written.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kro_gitops.engine.crd.own import own_crds
from kro_gitops.source.crds import source_crds
from kube_objects.yaml_writer import to_yaml
from tools.cluster.commands import find_binary
from tools.cluster.parts import ToolError

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "kro-gitops"
PAGE = ROOT / "docs" / "reference" / "deployment.md"

RELEASE = "kro-gitops"
NAMESPACE = "kro-gitops-system"
MODES = ("unrestricted", "aggregation")
KUBE_VERSION = "1.31.0"  # the oldest that the chart is for; a helm without a cluster has to guess

_MADE = "# Made by `python -m tools.update_deploy`.\n"
_BEGIN, _END = "<!-- values -->\n", "<!-- end of values -->\n"
_KEY = re.compile(r"( *)([A-Za-z]+):(?: .*)?")
_SOURCE = re.compile(r"# Source: \S+/templates/(\S+)\n")

Texts = dict[Path, str]


def crd_files() -> Texts:
    """Return the files of the CRDs, twice: Helm wants them inside the chart."""
    texts: Texts = {}
    for crd in (*own_crds(), *source_crds()):
        group, plural = crd["spec"]["group"], crd["spec"]["names"]["plural"]
        for folder in (DEPLOY / "crds", CHART / "crds"):
            texts[folder / f"{group}_{plural}.yaml"] = _MADE + to_yaml(crd)
    names = sorted(path.name for path in texts if path.parent == DEPLOY / "crds")
    texts[DEPLOY / "crds" / "kustomization.yaml"] = _kustomization(names)
    return texts


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the chart: its path, its default, and what the comment above it says."""

    path: str
    default: Any
    text: str


def values(text: str) -> Iterator[Value]:
    """Give the values of a chart that have a comment, in their order."""
    data = yaml.safe_load(text)
    parents: list[str] = []
    comment: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            comment.append(stripped.lstrip("# "))
            continue
        key = _KEY.fullmatch(line)
        if key:
            parents = [*parents[: len(key[1]) // 2], key[2]]
        if key and comment:
            yield Value(".".join(parents), _at(data, parents), " ".join(comment))
        comment = []


def _at(data: Any, path: list[str]) -> Any:
    for key in path:
        data = data[key]
    return data


def documented(text: str) -> list[Value]:
    """Return the values to show: those that hold others with a comment are headings only."""
    found = list(values(text))
    return [
        value
        for value in found
        if not any(other.path.startswith(f"{value.path}.") for other in found)
    ]


def values_table() -> str:
    """Return the table of values."""
    rows = ["| value | default | meaning |", "|---|---|---|"]
    for value in documented((CHART / "values.yaml").read_text(encoding="utf-8")):
        default = json.dumps(value.default, ensure_ascii=False)
        rows.append(f"| `{value.path}` | `{default}` | {value.text} |")
    return "\n".join(rows) + "\n"


def page() -> str:
    """Return the page about deployment, with its table written anew."""
    before, rest = PAGE.read_text(encoding="utf-8").split(_BEGIN)
    _, after = rest.split(_END)
    return f"{before}{_BEGIN}\n{values_table()}\n{_END}{after}"


def render(mode: str, *arguments: str) -> dict[str, str]:
    """Return what the chart becomes, by template; `arguments` are further ones of helm."""
    command = [find_binary("helm"), "template", RELEASE, str(CHART), f"--namespace={NAMESPACE}"]
    done = subprocess.run(
        [*command, f"--kube-version={KUBE_VERSION}", f"--set=rbac.mode={mode}", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ToolError(done.stderr.strip())
    texts: dict[str, str] = {}
    for document in done.stdout.split("---\n"):
        source = _SOURCE.match(document)
        if source:
            body = document[source.end() :].strip("\n") + "\n"
            texts[source[1]] = f"{texts[source[1]]}---\n{body}" if source[1] in texts else body
    return texts


def kustomize_files() -> Texts:
    """Return the files below `deploy/kustomize` that are made from the chart."""
    # Labels that say «Helm» would be wrong here.
    quiet = "--set=metadata.includeHelmChart=false,metadata.includeManagedBy=false"
    by_mode = {mode: render(mode, quiet) for mode in MODES}
    first, second = by_mode.values()
    shared = {name: text for name, text in first.items() if second.get(name) == text}
    base = DEPLOY / "kustomize" / "base"
    texts = {base / name: _MADE + text for name, text in shared.items()}
    names = sorted(("namespace.yaml", *shared))
    texts[base / "kustomization.yaml"] = _kustomization(names, namespace=True)
    for mode, rendered in by_mode.items():
        overlay = DEPLOY / "kustomize" / "overlays" / mode
        own = {name: text for name, text in rendered.items() if name not in shared}
        texts |= {overlay / name: _MADE + text for name, text in own.items()}
        texts[overlay / "kustomization.yaml"] = _kustomization(
            ["../../base", *sorted(own)], namespace=True
        )
    return texts


def _kustomization(resources: list[str], *, namespace: bool = False) -> str:
    made: dict[str, Any] = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        **({"namespace": NAMESPACE} if namespace else {}),
        "resources": resources,
    }
    return _MADE + to_yaml(made)


def main() -> int:
    """Write everything."""
    texts = crd_files()
    texts[PAGE] = page()
    try:
        texts |= kustomize_files()
    except ToolError as failure:
        print(f"deploy/kustomize is left as it is: {failure}", file=sys.stderr)
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
