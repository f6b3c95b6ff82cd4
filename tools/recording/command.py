"""The command line that all recorders share: which server is asked, and where is written."""

import gzip
import json
import lzma
import os
import sys
import zlib
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tools.cluster.control_plane import control_plane, leave_on_signals
from tools.cluster.parts import ToolError
from tools.recording.client import Client

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "packages/kube-sandbox/tests/unit"
_PACKED: Mapping[str, Callable[[bytes], bytes]] = {
    ".gz": lambda text: gzip.compress(text, 9, mtime=0),
    ".xz": lzma.compress,
    ".zlib": lambda text: zlib.compress(text, 9),
}


def command_line(doc: str | None) -> ArgumentParser:
    """Return a parser of what every recorder takes."""
    parser = ArgumentParser(description=(doc or "").strip().splitlines()[0])
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        default=os.environ.get("KUBECONFIG"),
        help="of a server to ask instead of a new one",
    )
    parser.add_argument("--data", type=Path, help="folder to write to instead of the usual ones")
    return parser


def run(
    record: Callable[[Client], Mapping[Path, Any]],
    arguments: Namespace,
    *,
    controllers: bool = False,
    api_server_flags: Sequence[str] = (),
) -> None:
    """Record, and write what is recorded by file; the rest is about a server that is started."""
    leave_on_signals()
    try:
        with ExitStack() as stack:
            kubeconfig = arguments.kubeconfig
            if kubeconfig is None:
                started = control_plane(controllers=controllers, api_server_flags=api_server_flags)
                kubeconfig = stack.enter_context(started).kubeconfig
            found = record(Client(kubeconfig))
    except ToolError as failure:
        sys.exit(f"recording: {failure}")
    for file, content in found.items():
        target = arguments.data / file.name if arguments.data else file
        target.write_bytes(packed(content, file.suffix))
        print(f"{target}: {target.stat().st_size / 1024:.0f} KiB")


def packed(content: Any, suffix: str) -> bytes:
    """Return content as it is stored in a file with a suffix."""
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    return _PACKED[suffix](text.encode())
