"""
Write the lock files of `requirements/` from what the distributions declare: `make lock`.

    python -m tools.dependencies.lock              keep the pinned versions where they still fit
    python -m tools.dependencies.lock --upgrade    take the newest versions that are allowed

`dev` is resolved first. The others are parts of it, so that no two files pin different versions.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.dependencies.locks import Declared, declared, lock_path

_COMPILE = (
    *("pip", "compile", "--universal", "--python-version=3.11", "--fork-strategy=fewest"),
    *("--generate-hashes", "--no-build", "--quiet", "--no-config"),
    "--custom-compile-command=make lock",
)


def main() -> int:
    """Write every lock file; return the exit code of the first failure."""
    parser = argparse.ArgumentParser(prog="make lock", description="Write the lock files.")
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions")
    upgrade = ("--upgrade",) if parser.parse_args().upgrade else ()
    requirements = declared()
    return (
        _compile("dev", requirements["dev"], lock_path("dev"), *upgrade)
        or _compile("install", requirements["install"], lock_path("dev"))
        or _compile("build", requirements["build"], lock_path("dev"))
        or _compile("lock", requirements["lock"], lock_path("lock"), *upgrade)
    )


def _compile(name: str, requirements: Declared, pinned: Path, *options: str) -> int:
    """Write one lock file; `pinned` has the versions to prefer. Comments name `DECLARER.in`."""
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        inputs = []
        for declarer, texts in requirements.items():
            if texts:
                inputs.append(f"{declarer}.in")
                (folder / inputs[-1]).write_text("\n".join((*texts, "")), encoding="utf-8")
        output = folder / lock_path(name).name
        if pinned.exists():
            shutil.copyfile(pinned, output)  # uv keeps the versions of the file it replaces
        uv = [sys.executable, "-m", "uv", *_COMPILE, *options, f"--output-file={output.name}"]
        code = subprocess.run([*uv, *inputs], cwd=folder, check=False).returncode
        if code == 0:
            shutil.copyfile(output, lock_path(name))
        return code


if __name__ == "__main__":
    sys.exit(main())
