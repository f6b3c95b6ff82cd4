"""
Reconcile a repository without a cluster: `make demo`.

Follows `examples/repo` on an embedded API in `build/demo`, then serves the API again to print a
child and the origin of one of its fields. Nothing else on this machine is read or written.
"""

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

from kro_gitops.errors import KroGitopsError
from kro_gitops.kube.client import Client
from kro_gitops.kube.credentials import from_kubeconfigs
from kro_gitops.kube.discovery import Discovery
from kro_gitops.kube.transport import Transport
from kro_gitops.local.api_process import EmbeddedApiOptions, run_embedded_api
from kube_objects.refs import Kind, KubeObject, ObjectRef
from kube_objects.yaml_writer import to_yaml

PROGRAM = Path(sys.executable).with_name("kro-gitops")
DATA = Path("build/demo")
PATHS = "examples/repo,examples/demo"
CHILD = ObjectRef(Kind("apps", "v1", "Deployment"), "shop", "front")
MARKS = ("gitops.kro.run/", "internal.kro.run/", "kro.run/", "applyset.kubernetes.io/", "app.kube")


def main() -> int:
    """Reconcile, show a child, and say how to go on."""
    begun = time.monotonic()
    code = _command("run", "--once", "--data-dir", str(DATA), "--repo", ".", "--path", PATHS)
    if code:
        return code
    try:
        with run_embedded_api(EmbeddedApiOptions(DATA), lambda: None) as api:
            child = asyncio.run(_read(api.kubeconfig))
            print(f"\nLabels and annotations that identify one child, {CHILD}:")
            print(_marks(child))
            question = ("why", "deployment/front", "-n", "shop", "spec.replicas")
            _command(*question, kubeconfig=api.kubeconfig)
    except KroGitopsError as error:
        print(f"demo: {error.full_text}", file=sys.stderr)
        return 1
    print(f"\nReconciled in {time.monotonic() - begun:.0f} s. To continue:")
    print(f"  {_shown()} run --data-dir {DATA} --repo . --path {PATHS}")
    print(f"or with your own repository: {_shown()} run --repo PATH|URL")
    return 0


def _command(*words: str, kubeconfig: Path | None = None) -> int:
    print(f"\n$ {_shown()} {' '.join(words)}", flush=True)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("KRO_GITOPS_")}
    kept.pop("KUBECONFIG", None)
    more = {"KUBECONFIG": str(kubeconfig)} if kubeconfig else {}
    return subprocess.run([PROGRAM, *words], env={**kept, **more}, check=False).returncode


def _shown() -> Path:
    here = Path.cwd()
    return PROGRAM.relative_to(here) if PROGRAM.is_relative_to(here) else PROGRAM


async def _read(kubeconfig: Path) -> KubeObject:
    access = await from_kubeconfigs([kubeconfig])
    async with Transport(access) as transport:
        return await Client(transport, Discovery(transport)).get(CHILD)


def _marks(child: KubeObject) -> str:
    metadata = child["metadata"]
    kept = {
        section: {key: text for key, text in metadata[section].items() if key.startswith(MARKS)}
        for section in ("annotations", "labels")
    }
    return "".join(f"  {line}\n" for line in to_yaml(kept).splitlines()).rstrip()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
