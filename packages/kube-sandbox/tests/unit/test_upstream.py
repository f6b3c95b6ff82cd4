"""
Every module that imitates Kubernetes names what it follows, so that the next minor can be ported
by reading the diff of those files.

The citation is the last paragraph of the module's docstring:

    Follows kubernetes 1.35 pkg/apis/core/validation/validation.go ValidateEnv, ValidateEnvFrom;
    structured-merge-diff 6.3 typed/merge.go mergingWalker.merge.

A file without a project in front belongs to the project named before it. `k8s.io/…` paths of
kubernetes are those of its staging directory; all others are relative to the repository's root
(for go: to `src`).
"""

import ast
import re
from pathlib import Path

import pytest

import kube_sandbox

# The versions that are imitated; kubernetes 1.35 pins all the others in its go.mod.
_VERSIONS = {
    "kubernetes": "1.35",
    "structured-merge-diff": "6.3",
    "kube-openapi": "589584f1c912",
    "sigs.k8s.io/json": "2d320260d730",
    "json-patch": "4.13.0",
    "cron": "3.0.1",
    "etcd": "3.6",
    "go": "1.25",
}

_COMMAND_LINE = "the command line of the sandbox"
_WIRING = "puts the parts of the sandbox together"
_STRATEGY_TABLE = "a table of strategies; each of them names what it follows"
_LOOPBACK_KEYS = "keys of a server on loopback; a real cluster is given its keys"
_OWN_CLIENT = "lets controllers in the same process write without HTTP"
_HTTP = "HTTP/1.1 by RFC 9112, which Kubernetes leaves to Go's net/http"
_SQLITE = "persistence in SQLite, where Kubernetes has etcd"

_NO_UPSTREAM = {
    "__init__": "the public interface of the package",
    "__main__": _COMMAND_LINE,
    "command": _COMMAND_LINE,
    "nesting": "a limit of Python's stack and of orjson",
    "lazy": "imports modules when they are first used",
    "process": "runs the sandbox as a child process",
    "server": _WIRING,
    "wiring": _WIRING,
    "authentication.certificates": _LOOPBACK_KEYS,
    "authentication.key_generation": _LOOPBACK_KEYS,
    "authentication.private_files": _LOOPBACK_KEYS,
    "authentication.token_signing": "JSON Web Signatures by RFC 7515",
    "controllers.client": _OWN_CLIENT,
    "controllers.client_interface": _OWN_CLIENT,
    "controllers.workloads.indexes": "an index of stored objects, where controllers have informers",
    "controllers.workloads.registry": "a table of controllers; each names what it follows",
    "controllers.workloads.simulated_outcomes": "users choose how simulated pods end",
    "endpoints.interface": "between the HTTP server and the handlers, where Go has net/http",
    "http.messages": _HTTP,
    "http.server": _HTTP,
    "registry.builtin.go_codec.struct_types": "reads a data file made from the Go types",
    "registry.builtin.non_workload_strategies": _STRATEGY_TABLE,
    "registry.builtin.registry": _STRATEGY_TABLE,
    "registry.builtin.workload_strategies": _STRATEGY_TABLE,
    "registry.kinds": "a table of what is served, filled by other modules",
    "storage.journal": _SQLITE,
    "storage.snapshots": _SQLITE,
    "storage.store_file": _SQLITE,
}

_FILE = re.compile(r"(?:(?P<project>\S+) (?P<version>[0-9a-f.]+) )?(?P<path>\S+\.go) (?P<names>.+)")
_PATH = re.compile(r"[a-z0-9._-]+(/[A-Za-z0-9._-]+)*\.go")
_NAME = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)?")


def _docstrings() -> dict[str, str]:
    """Return the docstrings of all modules with code, by their names within kube_sandbox."""
    root = Path(kube_sandbox.__file__).parent
    docstrings = {}
    for path in sorted(root.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        has_code = any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in tree.body)
        if path.name != "__init__.py" or has_code:
            name = ".".join(path.relative_to(root).with_suffix("").parts)
            docstrings[name] = ast.get_docstring(tree) or ""
    return docstrings


_DOCSTRINGS = _docstrings()


def _violation(docstring: str) -> str:
    """Return what is wrong with the citation in a docstring, or ""."""
    paragraph = " ".join(docstring.rsplit("\n\n", 1)[-1].split())
    if not paragraph.startswith("Follows ") or not paragraph.endswith("."):
        return "the last paragraph of the docstring is not 'Follows <project> <version> <file> …'"
    project = ""
    for entry in paragraph.removeprefix("Follows ").removesuffix(".").split("; "):
        match = _FILE.fullmatch(entry)
        if match is None:
            return f"{entry!r} is not '<file>.go <function>, …'"
        project = match["project"] or project
        if project not in _VERSIONS:
            return f"{project or entry!r} is not one of {', '.join(_VERSIONS)}"
        if match["version"] not in (None, _VERSIONS[project]):
            return f"{project} {match['version']} is cited, {_VERSIONS[project]} is imitated"
        if not _PATH.fullmatch(match["path"]):
            return f"{match['path']!r} is not a path in a repository"
        for name in match["names"].split(", "):
            if not _NAME.fullmatch(name):
                return f"{name!r} is not the name of a Go function, method or type"
    return ""


@pytest.mark.parametrize("module", sorted(set(_DOCSTRINGS) - set(_NO_UPSTREAM)))
def test_a_module_names_the_upstream_files_and_functions_it_follows(module: str) -> None:
    assert _violation(_DOCSTRINGS[module]) == ""


def test_the_list_of_modules_without_upstream_has_no_stale_entry() -> None:
    cited = {name for name in _NO_UPSTREAM if "\nFollows " in _DOCSTRINGS.get(name, "\nFollows ")}
    assert cited == set(), "gone, or with a citation now"


@pytest.mark.parametrize(
    ("docstring", "violation"),
    [
        ("Pods.", "the last paragraph"),
        ("Pods.\n\nFollows upstream.", "'upstream' is not"),
        ("Pods.\n\nFollows pkg/apis/core/types.go Pod.", "is not one of kubernetes, "),
        ("Pods.\n\nFollows kubernetes 1.34 pkg/apis/core/types.go Pod.", "1.35 is imitated"),
        ("Pods.\n\nFollows kubernetes 1.35 pkg/apis/core/types.go.", "is not '<file>.go"),
        ("Pods.\n\nFollows kubernetes 1.35 pkg/apis/core/types.go the Pod.", "name of a Go"),
        ("Pods.\n\nFollows kubernetes 1.35 /home/me/types.go Pod.", "is not a path"),
        (
            "Pods.\n\nFollows kubernetes 1.35 a.go Pod,\nPodSpec; go 1.25 fmt/print.go pp.free.",
            "",
        ),
    ],
)
def test_the_form_of_a_citation_is_checked(docstring: str, violation: str) -> None:
    assert violation in _violation(docstring)
    assert bool(violation) == bool(_violation(docstring))
