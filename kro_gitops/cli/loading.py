"""
From paths on the command line to a compiled repository: the first half of most verbs.
"""

import argparse
import gc
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

from kro_gitops.cli.exits import PROBLEMS
from kro_gitops.cli.files import FileSet, read_file, read_paths, reason
from kro_gitops.cli.options import build_options
from kro_gitops.cli.output import FORMATS, Style, counted, refuse, say
from kro_gitops.preview.repository import Repository, compile_repository
from kro_gitops.source.manifests import read
from kube_objects import documents
from kube_objects.builtins.catalog import catalog
from kube_objects.documents import Document
from kube_objects.positions import SourceText
from kube_objects.problems import Finding, Severity

_GC_THRESHOLD = 100_000  # objects


@dataclass(frozen=True, slots=True)
class Loaded:
    """A compiled repository with the files it came from."""

    repository: Repository
    files: FileSet

    @property
    def findings(self) -> list[Finding]:
        """Return everything that is wrong, files first to last, top to bottom."""
        found = [*self.files.findings, *self.repository.findings]
        return sorted(found, key=lambda finding: finding.order)

    @property
    def errors(self) -> list[Finding]:
        """Return the findings that fail a run."""
        return [f for f in self.findings if f.problem.severity is Severity.ERROR]

    def sources(self) -> dict[str, SourceText]:
        """Return the text of the files that have findings."""
        names = {finding.origin.file for finding in self.findings}
        return {
            name: SourceText(content.decode("utf-8", "replace").removeprefix("\ufeff"))
            for name, content in self.files.contents.items()
            if name in names
        }


def load(paths: list[str], args: argparse.Namespace, besides: Iterable[str] = ()) -> Loaded:
    """Read files, compile what they hold; files `besides` are for something else."""
    # Nearly everything that is made is kept until the process ends: there is little to collect.
    gc.set_threshold(_GC_THRESHOLD)
    files = read_paths(paths, besides)
    manifests = read(files.contents.items(), chosen=True)
    repository = compile_repository(manifests, catalog, build_options(args))
    return Loaded(repository, files)


def load_documents(name: str) -> tuple[Document, ...]:
    """Read a file of YAML documents that are no manifests, or exit saying what is wrong with it."""
    try:
        content = read_file(name)
    except OSError as error:
        refuse(f"{name} {reason(error)}")
    found = documents.load(content, name)
    if found.findings:
        sources = {name: SourceText(content.decode("utf-8", "replace"))}
        refuse(FORMATS["text"](found.findings, sources, Style(sys.stderr)).rstrip("\n"))
    return found.documents


def show_findings(loaded: Loaded, findings: list[Finding]) -> None:
    """Print findings as text to stderr, for verbs whose result is something else."""
    style = Style(sys.stderr)
    say(FORMATS["text"](findings, loaded.sources(), style).rstrip("\n"))
    errors = sum(f.problem.severity is Severity.ERROR for f in findings)
    say(f"\n{counted(errors, 'error')} found")


def refuse_findings(loaded: Loaded, findings: list[Finding]) -> NoReturn:
    """Print findings and give up."""
    show_findings(loaded, findings)
    sys.exit(PROBLEMS)
