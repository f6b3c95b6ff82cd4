"""
One definition, named on the command line by its file, for `graph`, `generate` and `eval`.
"""

import argparse
import os
from pathlib import Path

from kro_gitops.cli.inputs import STDIN, Loaded, fail_with_findings, load
from kro_gitops.cli.messages import fail
from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.preview.repository import CompiledDefinition
from kro_gitops.source.files.foreign_files import is_foreign
from kro_gitops.telemetry.printable import printable


def find_graph(args: argparse.Namespace, file: str, name: str | None = None) -> Graph:
    """
    Compile one definition; exit with a message if it has errors.

    If it does not compile alone, the files beside it are read, too: a definition that uses another
    one, or a CRD in the same folder, compiles as it does with `validate`.
    """
    loaded = load([file], args)
    found = _chosen(loaded, file, name)
    if found.graph is None and file != STDIN and not Path(file).is_dir():
        folder = Path(os.path.normpath(file)).parent
        beside = sorted(str(path) for path in folder.iterdir() if path.is_file())
        beside = [path for path in beside if not is_foreign(path, frozenset())]
        loaded = load([file, *beside], args)
        found = _chosen(loaded, file, name)
    if found.graph is None:
        own = loaded.files.name_of(file)
        errors = [finding for finding in loaded.errors if finding.origin.file == own]
        fail_with_findings(loaded, errors or loaded.errors)
    return found.graph


def _chosen(loaded: Loaded, file: str, name: str | None) -> CompiledDefinition:
    """Return the one definition that is asked for, or exit with a message."""
    own = loaded.files.name_of(file)
    definitions = [
        definition
        for definition in loaded.repository.definitions
        if definition.manifest.document.file == own or Path(file).is_dir()
    ]
    found = [each for each in definitions if name in (None, each.manifest.ref.name)]
    # Objects of other files may be instances of definitions that are not read.
    errors = [each for each in loaded.errors if each.problem.code != "unknown-kind"]
    if not definitions and errors:
        fail_with_findings(loaded, errors)
    names = printable(", ".join(each.manifest.ref.name for each in definitions))
    if len(found) > 1:
        fail(f"{file} has several definitions ({names}): choose one with --name")
    if not found and names:
        fail(f"{file} has no ResourceGraphDefinition named '{name}', but: {names}")
    if not found:
        fail(f"no ResourceGraphDefinition in {file}")
    return found[0]
