"""
Which cluster tests run on: `KRO_GITOPS_CLUSTER` is `real` or `embedded`.

Both are a `Plane`, so nothing else differs. A test that only one of them can pass says so with a
marker, and why.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.cluster.control_plane import control_plane
from tools.cluster.embedded import embedded_plane
from tools.cluster.parts import ToolError
from tools.cluster.plane import Plane

REAL, EMBEDDED = "real", "embedded"
_WRITES = ("create", "update", "patch", "delete", "deletecollection")
_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        # What they hold is nobody's business, but who wrote them is.
        {
            "level": "Metadata",
            "resources": [{"resources": ["events", "secrets"]}],
            "verbs": _WRITES,
        },
        {"level": "RequestResponse", "verbs": _WRITES},
    ],
}


def chosen() -> str:
    """Return which cluster tests run on."""
    named = os.environ.get("KRO_GITOPS_CLUSTER", REAL)
    if named not in (REAL, EMBEDDED):
        raise ToolError(f"KRO_GITOPS_CLUSTER is '{named}'; there are '{REAL}' and '{EMBEDDED}'")
    return named


def may_be_missing() -> bool:
    """Say whether tests may go without a cluster: a real one takes binaries that not all have."""
    return chosen() == REAL and os.environ.get("CI") != "true"


@contextmanager
def started_plane(*, controllers: bool = False, audit: Path | None = None) -> Iterator[Plane]:
    """Run a cluster for as long as the block lasts; `audit` is told who changes what."""
    if chosen() == EMBEDDED:
        with embedded_plane(controllers=controllers, audit=audit) as plane:
            yield plane
        return
    flags = _audited(audit) if audit else []
    with control_plane(controllers=controllers, api_server_flags=flags) as real:
        yield real


def _audited(log: Path) -> list[str]:
    policy = log.with_name("audit-policy.json")
    policy.write_text(json.dumps(_POLICY))
    return [
        f"--audit-policy-file={policy}",
        f"--audit-log-path={log}",
        "--audit-log-mode=blocking",
        "--audit-log-maxsize=10000",  # megabytes: never turned over
    ]
