"""
Ask for known vulnerabilities of everything that `requirements/dev.txt` pins: `make audit`.

    python -m tools.dependencies.audit [--osv-url URL]

pip-audit asks the advisory service of the package index, or with `--osv-url` a service with OSV's
API. A vulnerability fails the command. A service that does not answer does not: a check without a
network must be possible. But what was not checked is always printed, because pip-audit itself
reports "No known vulnerabilities found" for distributions that the service does not know.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pip_audit

from tools.dependencies.locks import lock_path, parse_lock

# Vulnerabilities that do not affect us: the identifier, and the reason.
ACCEPTED: dict[str, str] = {}

_LIMIT = 120.0  # seconds for all requests; most of them are answered from pip's cache


def main() -> int:
    """Audit the lock file, print the result, and fail if something is vulnerable."""
    parser = argparse.ArgumentParser(prog="make audit", description="Ask for vulnerabilities.")
    parser.add_argument("--osv-url", metavar="URL", help="a service with OSV's API")
    parser.add_argument("--lock", type=Path, default=lock_path("dev"), metavar="FILE")
    arguments = parser.parse_args()
    pins = parse_lock(arguments.lock.read_text(encoding="utf-8"))
    osv = ("--vulnerability-service=osv", f"--osv-url={arguments.osv_url}")
    command = [
        *(sys.executable, "-m", pip_audit.__name__, f"--requirement={arguments.lock}"),
        *("--require-hashes", "--disable-pip", "--format=json", "--desc=off"),
        *("--progress-spinner=off", *(osv if arguments.osv_url else ())),
        *(f"--ignore-vuln={identifier}" for identifier in ACCEPTED),
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LIMIT)
    except subprocess.TimeoutExpired:
        return _not_asked(len(pins), f"no answer within {_LIMIT:.0f} seconds")
    if not done.stdout:  # no report
        reasons = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return _not_asked(len(pins), reasons[-1])
    found = json.loads(done.stdout)["dependencies"]
    vulnerable = list(vulnerabilities(found))
    print("\n".join((*vulnerable, summary(found))))
    return 1 if vulnerable else 0


def vulnerabilities(found: list[dict[str, Any]]) -> Iterator[str]:
    """Return a line for each vulnerability in pip-audit's report."""
    for distribution in found:
        for advisory in distribution.get("vulns", ()):
            fixed = ", ".join(advisory["fix_versions"]) or "no version yet"
            names = ", ".join((advisory["id"], *advisory.get("aliases", ())))
            yield (
                f"audit: {distribution['name']} {distribution['version']} is vulnerable: {names}; "
                f"fixed in {fixed}"
            )


def summary(found: list[dict[str, Any]]) -> str:
    """Return how many distributions were checked, and how many the service does not know."""
    unknown = [each["name"] for each in found if "skip_reason" in each]
    if not unknown:
        return f"audit: {len(found)} distributions were checked for known vulnerabilities"
    named = ", ".join(unknown[:3]) + (", …" if unknown[3:] else "")
    return (
        f"audit: NOT CHECKED for known vulnerabilities: {len(unknown)} of {len(found)} "
        f"distributions, which the advisory service does not know ({named})"
    )


def _not_asked(count: int, reason: str) -> int:
    print(
        f"audit: NOT CHECKED for known vulnerabilities: {count} distributions, because the "
        f"advisory service did not answer: {reason}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
