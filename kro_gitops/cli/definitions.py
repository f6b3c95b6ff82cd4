"""
One definition, named on the command line by its file: what `graph`, `generate` and `eval` need.
"""

import argparse
import os
from pathlib import Path

from kro_gitops.cli.files import STDIN
from kro_gitops.cli.loading import Loaded, load, refuse_findings
from kro_gitops.cli.output import refuse
from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.preview.repository import CompiledDefinition
from kro_gitops.source.foreign_files import is_foreign
from kro_gitops.telemetry.printable import printable


def find_graph(args: argparse.Namespace, file: str, name: str | None = None) -> Graph:
    """
    Compile one definition, or exit saying what is wrong with it.

    If it does not compile alone, the files beside it are read, too: a definition that uses another
    one, or a CRD in the same folder, compiles as it does with `validate`.
    """
    loaded = load([file], args)
    found = _chosen(loaded, file, name)
    if found.graph is None and file != STDIN and not Path(file).is_dir():
        loaded = load([file, *_beside(file)], args)
        found = _chosen(loaded, file, name)
    if found.graph is None:
        own = loaded.files.name_of(file)
        errors = [finding for finding in loaded.errors if finding.origin.file == own]
        refuse_findings(loaded, errors or loaded.errors)
    return found.graph


def _chosen(loaded: Loaded, file: str, name: str | None) -> CompiledDefinition:
    """Choose the definition that is meant, or exit: there must be exactly one."""
    own = loaded.files.name_of(file)
    definitions = [
        each
        for each in loaded.repository.definitions
        if each.manifest.document.file == own or Path(file).is_dir()
    ]
    found = [each for each in definitions if name in (None, each.manifest.ref.name)]
    if not definitions and loaded.errors:
        refuse_findings(loaded, loaded.errors)
    if len(found) != 1:
        names = printable(", ".join(each.manifest.ref.name for each in definitions))
        refuse(_no_choice(file, name, names, is_ambiguous=bool(found)))
    return found[0]


def _no_choice(file: str, name: str | None, names: str, *, is_ambiguous: bool) -> str:
    if is_ambiguous:
        return f"{file} has several definitions ({names}): choose one with --name"
    if names:
        return f"{file} has no ResourceGraphDefinition named '{name}', but: {names}"
    return f"no ResourceGraphDefinition in {file}"


def _beside(file: str) -> list[str]:
    """List the manifest files of a file's folder, not of those below it."""
    folder = Path(os.path.normpath(file)).parent
    names = sorted(str(path) for path in folder.iterdir() if path.is_file())
    return [name for name in names if not is_foreign(name, frozenset())]
