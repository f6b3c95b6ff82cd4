"""
Record what a real API server says of pods by the Pod Security Standards.

    python -m tools.recording.pod_security
"""

import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tools.recording.client import MERGE_PATCH, Client, Json
from tools.recording.command import TESTS, command_line, run
from tools.recording.pod_security_cases import base, debugged, pods

FILE = TESTS / "admission" / "plugins" / "pod_security" / "data" / "pod_security.json.xz"
LEVELS = ("baseline", "restricted")
# Those at which a check comes or changes, those before, and one to come.
MINORS = (0, 7, 8, 18, 19, 21, *range(22, 37))
VERSIONS = (*(f"v1.{minor}" for minor in MINORS), "latest")
_LABEL = "pod-security.kubernetes.io/"
_REFUSED = 403
_REFUSED_BY_ALL = {"metadata": {"name": "x"}, "spec": {**base(meek=True)["spec"], "hostPID": True}}


def record(client: Client) -> dict[Path, Any]:
    """Return pods with what is told of them by level and version, where it is another."""
    cases: list[Json] = [{"pod": pod} for pod in (*pods(), *debugged())]
    for level in LEVELS:
        for version in VERSIONS:
            with ExitStack() as stack:
                _ask(client, cases, level, version, stack)
    # What is no pod at all is of no interest here.
    kept = [case for case in cases if case.pop("code", None) is None]
    return {FILE: [{**case, "told": _changes(case["told"])} for case in kept]}


def _ask(client: Client, cases: list[Json], level: str, version: str, stack: ExitStack) -> None:
    name = f"p-{level}-{version.replace('.', '-')}"
    stack.enter_context(client.namespace(name))
    here = f"/api/v1/namespaces/{name}"
    client.create(f"{here}/pods", {**base(meek=True), "metadata": {"name": "there"}})
    labels = {f"{_LABEL}enforce": level, f"{_LABEL}enforce-version": version}
    client.ask("PATCH", here, {"metadata": {"labels": labels}}, MERGE_PATCH)
    stack.callback(client.remove, f"{here}/pods/there")
    # It takes the plugin a moment to hear of labels.
    while client.ask("POST", f"{here}/pods?dryRun=All", _REFUSED_BY_ALL).code != _REFUSED:
        time.sleep(0.05)
    for case in cases:
        if "code" in case:
            continue
        answer = _answer(client, here, case["pod"])
        if answer.code not in (200, 201, _REFUSED):
            case["code"], case["message"] = answer.code, answer.body["message"]
            continue
        opening = f'pods "{{}}" is forbidden: violates PodSecurity "{level}:{version}": '
        told = answer.body["message"] if answer.code == _REFUSED else ""
        for pod in ("x", "there"):
            told = told.removeprefix(opening.format(pod))
        case.setdefault("told", {}).setdefault(level, {})[version] = told


def _answer(client: Client, here: str, pod: Json) -> Any:
    added = pod["spec"].get("ephemeralContainers")
    if not added:
        return client.ask("POST", f"{here}/pods?dryRun=All", pod)
    path = f"{here}/pods/there/ephemeralcontainers?dryRun=All"
    return client.ask("PATCH", path, {"spec": {"ephemeralContainers": added}}, MERGE_PATCH)


def _changes(told: Json) -> Json:
    """Leave out what is the same as at the version before."""
    found: Json = {}
    for level, texts in told.items():
        last = None
        for version, text in texts.items():
            if text != last:
                found.setdefault(level, {})[version] = last = text
    return found


def main() -> None:
    """Record, and write the file."""
    flags = ["--allow-privileged"]  # else no pod with such a container gets that far
    run(record, command_line(__doc__).parse_args(), api_server_flags=flags)


if __name__ == "__main__":
    main()
