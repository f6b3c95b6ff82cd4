"""
Record what a real API server makes of writes by several managers, for tests to replay.

Plays random sequences (server-side apply with and without force, PUT, merge patches, some of them
on the status) of objects of built-in kinds and of a custom kind that has lists and maps of all
sorts, and writes every request with its answer. The same seed plays the same requests.

    python -m tools.recording.apply [--seed N] [--rounds N] [--objects N]
"""

import random
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field

from tools.recording.applied_objects import (
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
from tools.recording.client import APPLY_PATCH, JSON, MERGE_PATCH, Answer, Client
from tools.recording.command import TESTS, command_line, run

FILE = TESTS / "managedfields" / "cases.json.gz"
NAMESPACE = "recorded"
MANAGERS = ("alpha", "beta", "kubectl")


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


@dataclass(slots=True)
class Sequence:
    """What happens to one object."""

    played: Played
    namespace: str
    name: str
    live: Json | None = None
    last: dict[str, Json] = field(default_factory=dict)  # what each manager applied last
    steps: list[Json] = field(default_factory=list)

    @property
    def path(self) -> str:
        """Return where the object is."""
        return self.played.path(self.played.api_versions[0], self.namespace, self.name)

    def play(self, client: Client, step: Json) -> None:
        """Write the object as a script says."""
        head = {"apiVersion": self.played.api_versions[0], "kind": self.played.kind}
        told = step["sent"]
        sent = {**head, **told, "metadata": {**told.get("metadata", {}), "name": self.name}}
        start = {"apiVersion": head["apiVersion"], "subresource": "", "force": False}
        self._do(client, {**start, **step, "sent": sent})

    def step(self, client: Client, chance: Chance) -> None:
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
        self._do(client, record)

    def _do(self, client: Client, record: Json) -> None:
        answer = self._send(client, record)
        self.steps.append({**record, "code": answer.code, "answer": answer.body})
        if answer.code < 300:
            self.live = answer.body
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

    def _send(self, client: Client, record: Json) -> Answer:
        query = {"fieldManager": record["manager"]}
        if record["force"]:
            query["force"] = "true"
        name = "" if self.live is None and record["verb"] == "update" else self.name
        path = self.played.path(record["apiVersion"], self.namespace, name)
        if record["subresource"]:
            path += f"/{record['subresource']}"
        method = {"apply": "PATCH", "patch": "PATCH"}.get(record["verb"], "PUT" if name else "POST")
        form = {"apply": APPLY_PATCH, "patch": MERGE_PATCH}.get(record["verb"], JSON)
        return client.ask(method, f"{path}?{urllib.parse.urlencode(query)}", record["sent"], form)


def record(client: Client, seed: int, rounds: int, objects: int) -> Json:
    """Play all sequences, to objects that are not there yet."""
    with client.namespace(NAMESPACE), client.definition(CRD, f"/apis/{GROUP}/v2/gears"):
        found = play(client, random.Random(seed), rounds, objects)
        for each in found:
            client.remove(each.path)
    schemas = {f"{GROUP}/v1": CUSTOM, f"{GROUP}/v2": OTHER}
    sequences = [{"kind": each.played.kind, "steps": each.steps} for each in found]
    return {"schemas": schemas, "sequences": sequences}


def play(client: Client, chance: Chance, rounds: int, objects: int) -> list[Sequence]:
    """Play all sequences side by side, a second apart so that times tell steps apart."""
    names = [f"{chance.randrange(16**8):08x}" for _ in range(objects)]
    found = [
        Sequence(PLAYED[max(0, place % 6 - 2)], NAMESPACE, f"o{name}")
        for place, name in enumerate(names)
    ]
    kinds = {each.kind: each for each in PLAYED}
    scripts = [
        (Sequence(kinds[kind], NAMESPACE, f"s{place}"), steps)
        for place, (kind, steps) in enumerate(SCRIPTS)
    ]
    for turn in range(max(rounds, *(len(steps) for _, steps in scripts))):
        begin = time.monotonic()
        for sequence in found if turn < rounds else ():
            sequence.step(client, chance)
        for sequence, steps in scripts:
            if turn < len(steps):
                sequence.play(client, steps[turn])
        time.sleep(max(0.0, 1.05 - (time.monotonic() - begin)))
    return [*found, *(sequence for sequence, _ in scripts)]


def main() -> None:
    """Record, and write the file."""
    parser = command_line(__doc__)
    parser.add_argument("--seed", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--objects", type=int, default=60)
    told = parser.parse_args()
    run(lambda client: {FILE: record(client, told.seed, told.rounds, told.objects)}, told)


if __name__ == "__main__":
    main()
