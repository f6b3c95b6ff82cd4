"""
Record what a real API server makes of writes by several managers, for tests to replay.

Plays random sequences (server-side apply with and without force, PUT, merge patches, some of them
on the status) of objects of built-in kinds and of a custom kind that has lists and maps of all
sorts, and writes every request with its answer. The same seed plays the same requests.

    tools/kube/build.sh etcd kube-apiserver && python -m tools.record_apply
"""

import argparse
import gzip
import json
import random
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.applied_objects import (
    CRD,
    CUSTOM,
    GROUP,
    OTHER,
    SCRIPTS,
    Chance,
    Json,
    config_map,
    deployment,
    gear,
    metadata,
    service,
    some,
    spoiled,
)
from tools.cluster.control_plane import control_plane, leave_on_signals

DATA = Path(__file__).resolve().parents[1] / "tests/unit/apiserver/managedfields/cases.json.gz"
MANAGERS = ("alpha", "beta", "kubectl")
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"


@dataclass(frozen=True, slots=True)
class Played:
    """A kind of which objects are written."""

    api_versions: tuple[str, ...]
    kind: str
    plural: str
    make: Callable[[Chance], Json]
    has_status: bool = True

    def path(self, api_version: str, namespace: str, name: str) -> str:
        """Return where its objects are; without a name, where they are made."""
        prefix = "apis" if "/" in api_version else "api"
        path = f"/{prefix}/{api_version}/namespaces/{namespace}/{self.plural}"
        return f"{path}/{name}" if name else path


PLAYED = (
    Played((f"{GROUP}/v1", f"{GROUP}/v1", f"{GROUP}/v1", f"{GROUP}/v2"), "Gear", "gears", gear),
    Played(("v1",), "ConfigMap", "configmaps", config_map, has_status=False),
    Played(("v1",), "Service", "services", service),
    Played(("apps/v1",), "Deployment", "deployments", deployment),
)


class Server:
    """An API server that is asked."""

    def __init__(self, kubeconfig: Json) -> None:
        self._url = kubeconfig["clusters"][0]["cluster"]["server"]
        self._token = kubeconfig["users"][0]["user"]["token"]
        # The server is ours, started for this, with a certificate it made itself.
        self._tls = ssl._create_unverified_context()

    def ask(self, method: str, path: str, body: Any = None, form: str = "") -> tuple[int, Json]:
        """Send a request; return code and body of the answer."""
        request = urllib.request.Request(
            f"{self._url}{path}",
            None if body is None else json.dumps(body).encode(),
            {
                "Authorization": f"Bearer {self._token}",
                "Content-Type": form or "application/json",
                "Accept": "application/json",
            },
            method=method,
        )
        try:
            with urllib.request.urlopen(request, context=self._tls) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refusal:
            text = refusal.read()  # plain where nothing is served
            return refusal.code, json.loads(text) if text.startswith(b"{") else {}


@dataclass(slots=True)
class Sequence:
    """What happens to one object."""

    played: Played
    namespace: str
    name: str
    live: Json | None = None
    last: dict[str, Json] = field(default_factory=dict)  # what each manager applied last
    steps: list[Json] = field(default_factory=list)

    def play(self, server: Server, step: Json) -> None:
        """Write the object as a script says."""
        head = {"apiVersion": self.played.api_versions[0], "kind": self.played.kind}
        told = step["sent"]
        sent = {**head, **told, "metadata": {**told.get("metadata", {}), "name": self.name}}
        start = {"apiVersion": head["apiVersion"], "subresource": "", "force": False}
        self._do(server, {**start, **step, "sent": sent})

    def step(self, server: Server, chance: Chance) -> None:
        """Write the object once more, somehow."""
        verb = chance.choices(("apply", "update", "patch"), (6, 2, 2))[0]
        if self.live is None and verb == "patch":
            verb = "update"
        api_version = chance.choice(self.played.api_versions)
        manager = chance.choice(MANAGERS)
        subresource = ""
        if self.live is not None and self.played.has_status and chance.random() < 0.12:
            subresource = "status"
        sent = self._body(chance, verb, api_version, manager)
        force = verb == "apply" and chance.random() < 0.35
        record = {
            "verb": verb,
            "apiVersion": api_version,
            "manager": manager,
            "subresource": subresource,
            "force": force,
            "sent": sent,
        }
        self._do(server, record)

    def _do(self, server: Server, record: Json) -> None:
        code, answer = self._send(server, record)
        self.steps.append({**record, "code": code, "answer": answer})
        if code < 300:
            self.live = answer
            if record["verb"] == "apply":
                self.last[record["manager"]] = record["sent"]

    def _body(self, chance: Chance, verb: str, api_version: str, manager: str) -> Json:
        made = self.played.make(chance)
        head = {"apiVersion": api_version, "kind": self.played.kind}
        if verb == "patch":
            return {"metadata": {**metadata(chance, self.name)}, **made}
        if verb == "apply":
            if manager in self.last and chance.random() < 0.35:
                return {**self.last[manager], **head}
            if chance.random() < 0.2:
                made = {key: spoiled(chance, value) for key, value in made.items()}
            return {**head, "metadata": metadata(chance, self.name), **made}
        sent = {**head, "metadata": metadata(chance, self.name), **made}
        if self.live is not None:
            kept = self.live["metadata"]
            sent["metadata"]["resourceVersion"] = kept["resourceVersion"]
            if chance.random() < 0.3:
                sent["metadata"]["managedFields"] = some(
                    chance,
                    [],
                    [{}],
                    kept.get("managedFields", []),
                    kept.get("managedFields", [])[:1],
                )
            if chance.random() < 0.5:  # a small change to what is there
                sent = {**self.live, **head, "metadata": {**kept, **sent["metadata"]}}
                sent |= {key: made[key] for key in list(made)[:1]}
        return sent

    def _send(self, server: Server, record: Json) -> tuple[int, Json]:
        query = {"fieldManager": record["manager"]}
        if record["force"]:
            query["force"] = "true"
        name = "" if self.live is None and record["verb"] == "update" else self.name
        path = self.played.path(record["apiVersion"], self.namespace, name)
        if record["subresource"]:
            path += f"/{record['subresource']}"
        method = {"apply": "PATCH", "patch": "PATCH"}.get(record["verb"], "PUT" if name else "POST")
        form = {"apply": APPLY, "patch": MERGE}.get(record["verb"], "")
        return server.ask(method, f"{path}?{urllib.parse.urlencode(query)}", record["sent"], form)


def record(server: Server, chance: Chance, namespace: str, rounds: int, objects: int) -> Json:
    """Play all sequences side by side, a second apart so that times tell steps apart."""
    server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    server.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD)
    while server.ask("GET", f"/apis/{GROUP}/v2/gears")[0] != 200:
        time.sleep(0.2)
    names = [f"{chance.randrange(16**8):08x}" for _ in range(objects)]
    found = [
        Sequence(PLAYED[max(0, place % 6 - 2)], namespace, f"o{name}")
        for place, name in enumerate(names)
    ]
    kinds = {each.kind: each for each in PLAYED}
    scripts = [
        (Sequence(kinds[kind], namespace, f"s{place}"), steps)
        for place, (kind, steps) in enumerate(SCRIPTS)
    ]
    for turn in range(max(rounds, *(len(steps) for _, steps in scripts))):
        begin = time.monotonic()
        for sequence in found if turn < rounds else ():
            sequence.step(server, chance)
        for sequence, steps in scripts:
            if turn < len(steps):
                sequence.play(server, steps[turn])
        time.sleep(max(0.0, 1.05 - (time.monotonic() - begin)))
    found += [sequence for sequence, _ in scripts]
    schemas = {f"{GROUP}/v1": CUSTOM, f"{GROUP}/v2": OTHER}
    sequences = [{"kind": each.played.kind, "steps": each.steps} for each in found]
    return {"schemas": schemas, "sequences": sequences}


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="file to write")
    parser.add_argument("--kubeconfig", type=Path, help="of a server to use instead of a new one")
    parser.add_argument("--namespace", default="recorded", help="one that is not there yet")
    parser.add_argument("--seed", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--objects", type=int, default=60)
    arguments = parser.parse_args()
    leave_on_signals()
    chance = random.Random(arguments.seed)
    with ExitStack() as stack:
        kubeconfig = arguments.kubeconfig or stack.enter_context(control_plane()).kubeconfig
        server = Server(json.loads(kubeconfig.read_text()))
        found = record(server, chance, arguments.namespace, arguments.rounds, arguments.objects)
    text = json.dumps(found, separators=(",", ":")).encode()
    arguments.data.write_bytes(gzip.compress(text, mtime=0))
    steps = sum(len(each["steps"]) for each in found["sequences"])
    print(f"{arguments.data}: {steps} steps, {arguments.data.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
