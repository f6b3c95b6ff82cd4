import re
import subprocess
import sys
from pathlib import Path

import kube_objects

README = Path(__file__).parents[2] / "README.md"


def test_every_exported_name_can_be_imported() -> None:
    assert all(getattr(kube_objects, name) is not None for name in kube_objects.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(kube_objects, "no_such_name")


def test_importing_the_package_imports_none_of_its_modules() -> None:
    loaded = "[name for name in sys.modules if name.startswith('kube_objects.')]"
    script = f"import sys, kube_objects; print({loaded})"
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert printed.stdout.strip() == "[]"


def test_the_example_in_the_readme_prints_what_it_says() -> None:
    found = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    expected = [line[2:] for line in found[1].splitlines() if line.startswith("# ")]
    printed = subprocess.run(
        [sys.executable, "-c", found[1]], capture_output=True, text=True, check=True
    )
    assert printed.stdout.splitlines() == expected
