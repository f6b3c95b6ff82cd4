"""
Write the bill of materials of an installation: `make sbom`.

It lists the distributions of this repository and everything that `requirements/install.txt` pins,
with hashes and with the dependencies between them, as CycloneDX JSON. The same lock file gives the
same bytes: there is no time stamp, and the serial number is derived from the content.
"""

import json
import sys
import tomllib
import uuid
from pathlib import Path
from typing import Any

from cyclonedx.contrib.hash.factories import HashTypeFactory
from cyclonedx.model import Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL

from kro_gitops import __version__
from tools.dependencies.locks import (
    PROJECTS,
    ROOT,
    Pin,
    lock_path,
    name_of,
    parse_lock,
    run_time_requirements,
)

OUTPUT = ROOT / "build" / "kro-gitops.cdx.json"
PRODUCT = "kro-gitops"
MARKER = "kro-gitops:marker"  # the environments in which a distribution is installed, if not in all

_NAMESPACE = uuid.UUID("6f1d7c55-1c0e-5c83-9d1e-3f0f7f6f2c11")


def bill_of_materials(lock: str) -> str:
    """Return the bill of materials for the text of a lock file."""
    pins = parse_lock(lock)
    projects = [tomllib.loads(path.read_text(encoding="utf-8"))["project"] for path in PROJECTS]
    components = {project["name"]: _our_component(project) for project in projects}
    requirements = {
        project["name"]: {name_of(text) for text in run_time_requirements(project)}
        for project in projects
    }
    for pin in pins:
        components[pin.name] = _component(pin)
        for requirer in pin.required_by:
            requirements.setdefault(requirer.removesuffix(".in"), set()).add(pin.name)
    product = components.pop(PRODUCT)
    bom = Bom(components=components.values(), serial_number=uuid.uuid5(_NAMESPACE, lock))
    bom.metadata.component = product
    for name, component in {PRODUCT: product, **components}.items():
        bom.register_dependency(component, [components[n] for n in requirements.get(name, ())])
    output = json.loads(
        make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string()
    )
    del output["metadata"]["timestamp"]
    return json.dumps(output, indent=2, sort_keys=True) + "\n"


def _our_component(project: dict[str, Any]) -> Component:
    return Component(
        name=project["name"],
        version=__version__,
        type=ComponentType.APPLICATION if project["name"] == PRODUCT else ComponentType.LIBRARY,
        description=project["description"],
        licenses=[LicenseExpression(project["license"])],
        bom_ref=f"{project['name']}=={__version__}",
    )


def _component(pin: Pin) -> Component:
    return Component(
        name=pin.name,
        version=pin.version,
        type=ComponentType.LIBRARY,
        scope=ComponentScope.REQUIRED,
        purl=PackageURL("pypi", name=pin.name, version=pin.version),
        hashes=[HashTypeFactory().from_composite_str(text) for text in pin.hashes],
        properties=[Property(name=MARKER, value=pin.marker)] if pin.marker else [],
        bom_ref=f"{pin.name}=={pin.version}",
    )


def main() -> int:
    """Write the file."""
    text = bill_of_materials(lock_path("install").read_text(encoding="utf-8"))
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(text, encoding="utf-8")
    print(OUTPUT.relative_to(Path.cwd()) if OUTPUT.is_relative_to(Path.cwd()) else OUTPUT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
