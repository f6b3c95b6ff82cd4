"""
What the distributions of this repository declare, and the lock files that pin it.

`requirements/` has one lock file per purpose. Each names every distribution that is installed for
it, with an exact version and the hashes of its files, for all supported Pythons and platforms:

    install  what `make install` and the image install
    build    pip and the build backend, with what it needs for an editable install
    dev      both, and what developing needs
    lock     what `python -m tools.dependencies.lock` runs

Only the standard library is used: a lock file that does not install can be written again.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ROOT / "requirements"
PROJECTS = (
    ROOT / "pyproject.toml",
    *(
        ROOT / "packages" / f"kube-{name}" / "pyproject.toml"
        for name in ("objects", "cel", "sandbox")
    ),
)
# What no table of pyproject.toml can name: the installer, and what the build backend asks for when
# it builds an editable wheel.
BUILD_TOOLS = ["pip>=26,<27", "editables>=0.5,<1"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PIN = re.compile(r"([A-Za-z0-9._-]+)==([^ ;\\]+)(?: ; ([^\\]+?))?(?: \\)?")
_HASH = re.compile(r" +--hash=(\S+:\S+)(?: \\)?")
_VIA = re.compile(r" +# +(?:via +)?(\S.*)")

Declared = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Pin:
    """A locked distribution; in `required_by`, `NAME.in` is a distribution of this repository."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]
    required_by: tuple[str, ...]


def normalize(name: str) -> str:
    """Return a distribution's name as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def name_of(requirement: str) -> str:
    """Return the normalized name in a requirement such as `PyJWT[crypto]>=2.10,<3`."""
    found = _NAME.match(requirement)
    if found is None:
        raise ValueError(f"{requirement!r} does not begin with the name of a distribution")
    return normalize(found[0])


def declared() -> dict[str, Declared]:
    """Return, for each lock file, the requirements to resolve, by who declares them."""
    projects = [tomllib.loads(path.read_text(encoding="utf-8")) for path in PROJECTS]
    ours = {normalize(project["project"]["name"]) for project in projects}

    def others(requirements: list[str]) -> list[str]:
        return [text for text in requirements if name_of(text) not in ours]

    install, build, dev = {}, {"build-tools": BUILD_TOOLS}, {}
    for project in projects:
        name = project["project"]["name"]
        install[name] = others(run_time_requirements(project["project"]))
        build[f"{name}-build"] = project["build-system"]["requires"]
        groups = project.get("dependency-groups", {})
        dev[f"{name}-dev"] = [*groups.get("dev", ()), *groups.get("test", ())]
    return {
        "install": install,
        "build": build,
        "dev": {**install, **build, **dev},
        "lock": {"lock": projects[0]["dependency-groups"]["lock"]},
    }


def run_time_requirements(project: dict[str, Any]) -> list[str]:
    """Return what the table `project` of a pyproject.toml requires, extras included."""
    extras = project.get("optional-dependencies", {}).values()
    return [*project["dependencies"], *(text for extra in extras for text in extra)]


def lock_path(name: str) -> Path:
    """Return the file of a lock."""
    return LOCKS / f"{name}.txt"


def parse_lock(text: str) -> list[Pin]:
    """Return the pins of a lock file, as uv writes it."""
    return list(_pins(text))


def _pins(text: str) -> Iterator[Pin]:
    pin: tuple[str, str, str] | None = None
    hashes: list[str] = []
    required_by: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("#"):
            continue
        if found := _HASH.fullmatch(line):
            hashes.append(found[1])
        elif found := _VIA.fullmatch(line):
            if found[1] != "via":
                required_by.append(found[1].removeprefix("-r "))
        else:
            if pin is not None:
                yield Pin(*pin, tuple(hashes), tuple(required_by))
            found = _PIN.fullmatch(line)
            if found is None and line:
                raise ValueError(f"not a line of a lock file: {line!r}")
            pin = (normalize(found[1]), found[2], found[3] or "") if found else None
            hashes, required_by = [], []
