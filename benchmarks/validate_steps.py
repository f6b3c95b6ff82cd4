"""
The steps of `kro-gitops validate`, each with its time; runs in a process of its own.

Does what the command does, and prints the CPU seconds of each step as JSON.
"""

import json
import sys
from itertools import pairwise
from time import process_time

from kro_gitops.cli.inputs import Loaded, read_paths, show_findings
from kro_gitops.engine.plan.evaluation import Bounds
from kro_gitops.preview.objects import check_instance
from kro_gitops.preview.rejections import rejections
from kro_gitops.preview.repository import compile_repository
from kro_gitops.source.files.manifests import read
from kube_objects.builtins.catalog import catalog


def main(folder: str) -> None:
    """Validate a folder, watch in hand."""
    marks = [0.0, process_time()]  # by now Python has started and everything is imported
    files = read_paths([folder])
    marks.append(process_time())
    manifests = read(files.contents.items())
    marks.append(process_time())
    repository = compile_repository(manifests, catalog)
    marks.append(process_time())
    repository.findings += rejections(repository, Bounds())
    marks.append(process_time())
    loaded = Loaded(repository, files)
    show_findings(loaded, loaded.findings)
    marks.append(process_time())
    for manifest, graph in repository.instances:
        list(check_instance(manifest.object, graph))
    marks.append(process_time())
    start, reading, yaml, compiled, planned, output, instances = (
        after - before for before, after in pairwise(marks)
    )
    # Instances are checked within the compilation; the second time tells their share.
    steps = {
        "start-up and imports": start,
        "files read": reading,
        "YAML to manifests": yaml,
        "definitions compiled": compiled - instances,
        "instances validated": instances,
        "instances planned": planned,
        "findings printed": output,
    }
    print(json.dumps(steps))


if __name__ == "__main__":
    main(sys.argv[1])
