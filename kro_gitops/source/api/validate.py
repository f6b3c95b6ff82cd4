"""
Validates the spec of a source, beyond what its schema can express.

The spec has the right shape and its defaults. Problems name the field, what is wrong and the
remedy.

Patterns are compiled by what also matches them later (`pathspec` for files, `re2` for tags): a
check of our own would sooner or later disagree.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import re2
from pathspec import GitIgnoreSpec

from kro_gitops.errors import UserError
from kro_gitops.source.api.semver import parse_range
from kro_gitops.source.api.url_policy import check_commit, check_path, check_ref
from kube_cel.time_formats import SECOND, parse_duration, parse_timestamp
from kube_objects.paths import format_path
from kube_objects.problems import Path, Problem, Spot
from kube_objects.refs import ObjectRef

INVALID = "invalid-source"

_LONGEST = 365 * 24 * 3600.0  # a year; longer means never, and that is `suspend`
_LONGEST_VISIT = 600.0  # all sources share the threads in which git is waited for
# As `source.plan.permissions` matches them: * and ? stand for characters, a bracket for nothing.
_NAMESPACE_GLOB = re.compile(r"[-a-z0-9*?]+")
_KIND_GLOB = re.compile(r"[A-Z*?][A-Za-z0-9*?]*(\.[-a-z0-9.*?]+)?")  # `deployments.apps` is none
_GLOBS = {
    "namespaces": (_NAMESPACE_GLOB, "write a namespace, with * and ? for any characters: team-*"),
    "kinds": (_KIND_GLOB, "write Kind.group, or Kind in the core group: Deployment.apps"),
    "instancesOf": (_KIND_GLOB, "write Kind.group of a generated kind: WebApp.kro.run"),
}
_SOME_TIME = "2026-03-01T09:30:00Z"
_POINTER = re.compile(r"(?:/(?:[^/~]|~[01])*)+")


@dataclass(frozen=True, slots=True)
class Defaults:
    """What an operator decides for all sources: their default account and their limits."""

    default_service_account: str = ""
    no_cross_namespace_refs: bool = False
    min_interval: float = 1.0  # seconds
    local_source: str | None = None  # namespace/name of the one that may read files; None: any


def seconds(text: str) -> float:
    """Read a duration; raise `ValueError` where it is none."""
    return parse_duration(text) / SECOND


def check_spec(source: ObjectRef, spec: dict[str, Any], defaults: Defaults) -> Iterator[Problem]:
    """Yield everything that is wrong with the spec of a source."""
    # A folder of the controller's machine is only for the source that its operator named.
    is_open = defaults.local_source is None or source.place == defaults.local_source
    if spec["url"].startswith("file://") and not is_open:
        hint = "name a repository on a server; a folder can be named only with --repo"
        yield _violation(("url",), "names a folder of the controller's own machine", hint)
    yield from _durations(spec, defaults)
    yield from _refs(spec.get("ref", {}))
    for index, path in enumerate(spec.get("paths", [])):
        yield from _rejected(("paths", index), path, check_path)
    for line in spec.get("ignore", "").splitlines():
        try:
            GitIgnoreSpec.from_lines([line])
        except (ValueError, re.error):
            hint = "write one pattern a line, as in .gitignore"
            yield _violation(("ignore",), f"has a line '{line}' that is no pattern", hint)
    for index, rule in enumerate(spec.get("drift", {}).get("ignore", [])):
        for number, pointer in enumerate(rule["paths"]):
            if not _POINTER.fullmatch(pointer):
                place = ("drift", "ignore", index, "paths", number)
                hint = "write /spec/replicas; a / within a name is ~1, a ~ is ~0"
                yield _violation(place, f"'{pointer}' is no JSON pointer", hint)
    for name, (form, hint) in _GLOBS.items():
        for index, glob in enumerate(spec.get("allow", {}).get(name, [])):
            if not form.fullmatch(glob):
                yield _violation(("allow", name, index), f"'{glob}' matches nothing", hint)
    yield from _dependencies(source, spec.get("dependsOn", []), defaults)
    yield from _pin(("pin",), spec.get("pin", {}))
    pinned: set[tuple[str, ...]] = set()
    for index, each in enumerate(spec.get("pins", [])):
        yield from _pin(("pins", index), each)
        place = each.get("namespace", source.namespace)
        key = (each.get("group", ""), each["kind"], place, each["name"])
        if key in pinned:
            what = f"pins {each['kind']} '{each['name']}' a second time"
            yield _violation(("pins", index), what, "remove one of the two")
        pinned.add(key)


def _pin(path: Path, pin: dict[str, Any]) -> Iterator[Problem]:
    if "commit" in pin:
        yield from _rejected((*path, "commit"), pin["commit"], check_commit)
    try:
        parse_timestamp(pin.get("expires", _SOME_TIME))
    except ValueError:
        what = f"'{pin['expires']}' is no time of RFC 3339"
        yield _violation((*path, "expires"), what, f"write {_SOME_TIME}")


def _violation(path: Path, what: str, hint: str) -> Problem:
    """Return a problem at a place of the spec."""
    spot = Spot(("spec", *path))
    return Problem(INVALID, f"{format_path(spot.path)} {what}", spot, hint=hint)


def _durations(spec: dict[str, Any], defaults: Defaults) -> Iterator[Problem]:
    least = {"interval": defaults.min_interval}
    for name in ("interval", "timeout", "healthTimeout"):
        try:
            value = seconds(spec[name])
        except ValueError:
            what = f"'{spec[name]}' is no length of time"
            yield _violation((name,), what, "write numbers with units: 30s, 1m30s, 1h")
            continue
        if value <= 0 or value < least.get(name, 0):
            bound = f"at least {least[name]:g}s" if name in least else "more than nothing"
            yield _violation((name,), f"'{spec[name]}' is too short", f"it must be {bound}")
        if name == "timeout" and value > _LONGEST_VISIT:
            yield _violation((name,), f"'{spec[name]}' is too long", "at most 10m")
        elif value > _LONGEST:
            hint = "at most 8760h; to stop, set spec.suspend"
            yield _violation((name,), f"'{spec[name]}' is too long", hint)


_REF_CHECKS: dict[str, Callable[[str], object]] = {
    "branch": check_ref,
    "tag": check_ref,
    "semver": parse_range,
    "name": check_ref,
    "commit": check_commit,
}


def _refs(ref: dict[str, Any]) -> Iterator[Problem]:
    for name, check in _REF_CHECKS.items():
        if name in ref:
            yield from _rejected(("ref", name), ref[name], check)
    for name, prefix in (("branch", "refs/heads/"), ("tag", "refs/tags/")):
        if ref.get(name, "").startswith(prefix):
            short = ref[name].removeprefix(prefix)
            what = f"'{ref[name]}' is a full ref"
            yield _violation(("ref", name), what, f"write '{short}', or put it into spec.ref.name")
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(ref.get("semverFilter", ""), options=options)
    except re2.error:
        what = f"'{ref['semverFilter']}' is no regular expression"
        yield _violation(("ref", "semverFilter"), what, "write one such as ^v[0-9.]+$")


def _rejected(path: Path, text: str, check: Callable[[str], object]) -> Iterator[Problem]:
    """Yield the problem that a check raises, placed at the field of the spec."""
    try:
        check(text)
    except UserError as error:
        place = format_path(("spec", *path))
        yield Problem(INVALID, f"{place}: {error.message}", Spot(("spec", *path)), hint=error.hint)


def _dependencies(
    source: ObjectRef, dependencies: list[dict[str, str]], defaults: Defaults
) -> Iterator[Problem]:
    for index, other in enumerate(dependencies):
        namespace = other.get("namespace", source.namespace)
        if (namespace, other["name"]) == (source.namespace, source.name):
            what = f"names '{other['name']}', this source itself"
            yield _violation(("dependsOn", index), what, "take it out")
        elif namespace != source.namespace and defaults.no_cross_namespace_refs:
            what = f"'{namespace}' is another namespace, and sources may only name their own"
            hint = "leave it out, or have the operator drop --no-cross-namespace-refs"
            yield _violation(("dependsOn", index, "namespace"), what, hint)
