"""
Files and folders named on the command line: read with care, parsed and compiled.

The contents are not trusted: links that lead out of a folder are not followed, devices and
pipes are not opened, and a file larger than the limit is reported instead of read. In a folder,
files that are not manifests are skipped silently; a file that the user names is always read,
because "0 errors" must mean that it was checked.
"""

import argparse
import gc
import os
import stat
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from kro_gitops.cli.exit_codes import PROBLEMS
from kro_gitops.cli.file_reading import files_below, read_file, reason
from kro_gitops.cli.messages import Style, counted, fail, say
from kro_gitops.cli.output import FORMATS
from kro_gitops.cli.schema_locations import schemas_at
from kro_gitops.engine.options import Options
from kro_gitops.local.dry_run import offline_api
from kro_gitops.preview.cluster import AssumedCluster
from kro_gitops.preview.masking import secret_fields_of, without_secrets
from kro_gitops.preview.repository import Repository, compile_repository
from kro_gitops.settings.option import OMIT_GATE
from kro_gitops.source.files.manifests import read
from kube_objects import documents
from kube_objects.builtins.catalog import catalog
from kube_objects.documents import Document
from kube_objects.positions import SourceText
from kube_objects.problems import Finding, Origin, Problem, Severity
from kube_objects.yaml_values import DEFAULT_LIMITS

STDIN = "-"
STDIN_NAME = "<stdin>"

_GC_THRESHOLD = 100_000  # objects


@dataclass(slots=True)
class FileSet:
    """Contents by the name to print, and findings for what could not be read."""

    contents: dict[str, bytes] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    _names: dict[str, str] = field(default_factory=dict)  # by real path
    _folders: dict[str, str] = field(default_factory=dict, compare=False)  # real paths by path

    def name_of(self, path: str) -> str:
        """Return the name under which a file was read, however its path is written."""
        return STDIN_NAME if path == STDIN else self._names.get(os.path.realpath(path), path)

    def read(self, name: str) -> None:
        """Read one file, unless it was read before under this or another name."""
        folder, last = os.path.split(name)
        try:
            is_plain = last not in ("", ".", "..") and not stat.S_ISLNK(os.lstat(name).st_mode)
        except OSError:
            is_plain = False
        if is_plain:  # the real path of a folder is the same for all its files
            if folder not in self._folders:
                self._folders[folder] = os.path.realpath(folder)
            real = os.path.join(self._folders[folder], last)  # noqa: PTH118 - a text is enough
        else:
            real = os.path.realpath(name)
        if real in self._names:
            return
        self._names[real] = name
        try:
            self.contents[name] = read_file(name)
        except OSError as error:
            self.add_finding(name, "unreadable-file", f"'{name}' {reason(error)}")

    def skip(self, name: str) -> None:
        """Treat a file as read already."""
        self._names[os.path.realpath(name)] = name

    def add_finding(self, name: str, code: str, summary: str, hint: str = "") -> None:
        """Add a finding about a file as a whole."""
        self.findings.append(Finding(Problem(code, summary, hint=hint), Origin(name, 1, 1)))


def read_paths(paths: Iterable[str], besides: Iterable[str] = ()) -> FileSet:
    """
    Read every manifest file below the paths; `-` is standard input.

    Files that serve another purpose, and may stand in the same folders, are named `besides`.
    """
    found = FileSet()
    for name in besides:
        found.skip(name)
    for path in paths:
        if path == STDIN:
            found.contents[STDIN_NAME] = sys.stdin.buffer.read(DEFAULT_LIMITS.file_bytes + 1)
        elif not os.path.lexists(path):
            found.add_finding(path, "no-such-file", f"'{path}' does not exist")
        elif Path(path).is_dir():
            for name in files_below(os.path.normpath(path)):
                found.read(name)
        else:
            found.read(os.path.normpath(path))
    return found


@dataclass(frozen=True, slots=True)
class Loaded:
    """A compiled repository with the files it came from."""

    repository: Repository
    files: FileSet

    @property
    def findings(self) -> list[Finding]:
        """Return all findings, by file and line."""
        found = [*self.files.findings, *self.repository.findings]
        return sorted(found, key=lambda finding: finding.order)

    @property
    def errors(self) -> list[Finding]:
        """Return the findings that fail a run."""
        return [f for f in self.findings if f.problem.severity is Severity.ERROR]

    def sources(self) -> dict[str, SourceText]:
        """Return the text of the files that have findings, without values of Secrets."""
        names = {finding.origin.file for finding in self.findings}
        secret_fields = secret_fields_of(self.repository.definitions)
        return {
            name: without_secrets(_decoded(content), name, secret_fields)
            for name, content in self.files.contents.items()
            if name in names
        }


def _decoded(content: bytes) -> str:
    return content.decode("utf-8", "replace").removeprefix("\ufeff")


def load(paths: list[str], args: argparse.Namespace, besides: Iterable[str] = ()) -> Loaded:
    """Read and compile files; files `besides` serve another purpose and are skipped."""
    # Nearly everything that is made is kept until the process ends: there is little to collect.
    gc.set_threshold(_GC_THRESHOLD)
    files = read_paths(paths, besides)
    manifests = read(files.contents.items(), chosen=True)
    repository = compile_repository(
        manifests,
        catalog,
        build_options(args),
        AssumedCluster(offline_api(), schemas_at(args.schema_location, args.external_kind)),
    )
    return Loaded(repository, files)


def load_documents(name: str) -> tuple[Document, ...]:
    """Read a file of YAML documents that are not manifests; exit with a message on errors."""
    try:
        content = read_file(name)
    except OSError as error:
        fail(f"{name} {reason(error)}")
    found = documents.load(content, name)
    if found.findings:
        sources = {name: without_secrets(_decoded(content), name, {})}
        fail(FORMATS["text"](found.findings, sources, Style(sys.stderr)).rstrip("\n"))
    return found.documents


def show_findings(loaded: Loaded, findings: list[Finding]) -> None:
    """Print findings as text to stderr, for verbs whose result is something else."""
    style = Style(sys.stderr)
    say(FORMATS["text"](findings, loaded.sources(), style).rstrip("\n"))
    errors = sum(f.problem.severity is Severity.ERROR for f in findings)
    say(f"\n{counted(errors, 'error')} found")


def fail_with_findings(loaded: Loaded, findings: list[Finding]) -> NoReturn:
    """Print findings and exit."""
    show_findings(loaded, findings)
    sys.exit(PROBLEMS)


def build_options(args: argparse.Namespace) -> Options:
    """Return the options that definitions are compiled with."""
    return Options(
        omit=OMIT_GATE in args.feature,
        max_dimensions=args.max_dimensions,
        max_collection_size=args.max_collection_size,
    )


def deadline_in(seconds: float) -> Callable[[], bool]:
    """Return a function that returns True once the time is up."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end
