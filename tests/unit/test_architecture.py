"""
A module is pure unless it is listed: values in, values out.

The list is short, and everyone sees it grow. Pure modules may read data that comes with packages
(`importlib.resources`, time zones): it is the same on every run.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PACKAGES = {
    "kro_gitops": REPOSITORY / "kro_gitops",
    **{
        f"kube_{name}": REPOSITORY / "packages" / f"kube-{name}" / "src" / f"kube_{name}"
        for name in ("objects", "cel", "sandbox")
    },
}

SHELL = {
    *(f"kro_gitops.{name}" for name in ("__main__", "cli", "app", "local", "server")),
    *("kro_gitops.telemetry.logs", "kro_gitops.telemetry.metrics"),
    *(f"kro_gitops.control.{name}" for name in ("leader_election", "leadership", "loop", "slots")),
    "kro_gitops.control.rival_controllers",
    *("kro_gitops.control.schedule", "kro_gitops.engine.controllers"),
    *(f"kro_gitops.kube.{name}" for name in ("access_review", "client", "credentials")),
    *(
        f"kro_gitops.kube.{name}"
        for name in ("discovery", "events", "informer", "plugins", "transport")
    ),
    *("kro_gitops.source.controllers", "kro_gitops.source.webhooks.endpoints"),
    *(
        f"kro_gitops.source.git.{name}"
        for name in (
            *("fetch", "objects", "github_app", "json_api", "locks", "auth", "mirror", "memory"),
            "storage",
            *("resolve", "process", "cat_file", "repository", "verify", "session", "http"),
        )
    ),
    "kro_gitops.source.notify.http",
    *(
        f"kube_sandbox.{name}"
        for name in ("__init__", "__main__", "command", "process", "wiring", "server")
    ),
    *(f"kube_sandbox.authentication.{name}" for name in ("certificates", "private_files")),
    "kube_sandbox.controllers.manager",
    *(f"kube_sandbox.storage.{name}" for name in ("journal", "snapshots", "store_file")),
    *("kube_sandbox.http.server", "kube_sandbox.http.watch_stream"),
}
WORLD = {
    *("asyncio", "concurrent", "multiprocessing", "threading", "signal", "subprocess"),
    *("os", "sys", "io", "shutil", "tempfile", "glob", "fileinput", "mmap", "ctypes"),
    *("socket", "ssl", "http", "requests", "aiohttp", "urllib.request"),
    *("time", "random", "secrets", "uuid", "locale", "platform", "getpass"),
    *("logging", "warnings", "kubernetes", "git", "apscheduler"),
    "pathlib.Path",  # pure paths are fine
}
HARMLESS = {"sys.intern"}  # parts of the above that see and change nothing
WORLDLY_CALLS = {"open", "print", "input", "eval", "exec", "__import__", "breakpoint"}
WORLDLY_METHODS = {("datetime", "now"), ("datetime", "today"), ("datetime", "utcnow")}


def module_name(file: Path) -> str:
    """Return the dotted name of a module: `kube_cel.checker`."""
    root = next(root for root in PACKAGES.values() if root in file.parents)
    return ".".join(file.relative_to(root.parent).with_suffix("").parts)


def is_shell(name: str) -> bool:
    """Say whether a module may touch the world."""
    parts = name.split(".")
    return any(".".join(parts[:count]) in SHELL for count in range(1, len(parts) + 1))


def pure_files() -> list[Path]:
    files = (file for root in PACKAGES.values() for file in sorted(root.rglob("*.py")))
    return [file for file in files if not is_shell(module_name(file))]


def imports(tree: ast.AST) -> Iterator[str]:
    """Give everything a module imports, wherever it does so: modules, and names in them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def worldly_imports(tree: ast.AST) -> set[str]:
    """Give the imports by which a module could reach the world, or a module that may."""
    found = set()
    for name in imports(tree):
        parts = name.split(".")
        prefixes = {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
        is_ours = parts[0] in PACKAGES
        if name in HARMLESS:
            continue
        if prefixes & WORLD or (is_ours and is_shell(".".join(parts))):
            found.add(name)
    return found


def worldly_calls(tree: ast.AST) -> set[str]:
    """Give the calls by which a module could reach the world without an import."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in WORLDLY_CALLS:
                found.add(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)) if (
                owner,
                name,
            ) in WORLDLY_METHODS:
                found.add(f"{owner}.{name}")
            case _:
                pass
    return found


@pytest.mark.parametrize("file", pure_files(), ids=module_name)
def test_pure_modules_do_not_touch_the_world(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    assert not worldly_imports(tree)
    assert not worldly_calls(tree)


@pytest.mark.parametrize(
    "text",
    [
        "import os",
        "import os.path",
        "from os import path",
        "from pathlib import Path",
        "import urllib.request",
        "from kro_gitops.cli import inputs",
        "from kro_gitops.cli.inputs import read_paths",
        "def late():\n    import time",
        "open('x')",
        "print('x')",
        "datetime.now()",
    ],
)
def test_ways_to_the_world_are_noticed(text: str) -> None:
    tree = ast.parse(text)
    assert worldly_imports(tree) or worldly_calls(tree)


@pytest.mark.parametrize(
    "text",
    [
        "from pathlib import PurePosixPath",
        "from urllib.parse import quote",
        "from kro_gitops.errors import Problem",
        "from importlib.resources import files",
        "stream.open('x')",
    ],
)
def test_what_reads_no_world_is_allowed(text: str) -> None:
    tree = ast.parse(text)
    assert not worldly_imports(tree)
    assert not worldly_calls(tree)
