"""
Record what a real API server makes of patches and selectors.

Every patch is a dry run. Kept are the objects that are patched, and for each request the patch and
either the parts of the object that came back or the Status.

    python -m tools.recording.patches
"""

import json
import random
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tools.recording.client import Answer, Client, Json
from tools.recording.command import TESTS, command_line, run
from tools.recording.definitions import OBJECT, definition, version
from tools.recording.patch_cases import (
    GROUP,
    THING,
    deployment,
    json_patches,
    merge_patches,
    strategic_patches,
)
from tools.recording.selector_cases import ASKED, FIELDS, KINDS, LABELS

FILE = TESTS / "patch" / "data" / "patches.json.zlib"
NAMESPACE = "f-recorded-patches"
THINGS = f"/apis/{GROUP}/v1/namespaces/{NAMESPACE}/things"
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
KEPT = ("labels", "annotations", "finalizers")
FORMS = {kind: f"application/{kind}-patch+json" for kind in ("json", "merge", "strategic-merge")}
DEFINITION = definition(
    GROUP,
    "Namespaced",
    {"plural": "things", "kind": "Thing"},
    version("v1", {**OBJECT, "x-kubernetes-preserve-unknown-fields": True}, storage=True),
)
MADE = (
    (THINGS, THING),
    (DEPLOYMENTS, deployment()),
    (CONFIG_MAPS, {"metadata": {"name": "thing"}}),
)


def record(client: Client) -> dict[Path, Json]:
    """Return what becomes of every patch, and what every selector selects."""
    with client.namespace(NAMESPACE), client.definition(DEFINITION, THINGS):
        try:
            for path, obj in MADE:
                client.create(path, obj)
            return {FILE: {**patched(client), **selections(client)}}
        finally:
            for path, obj in MADE:
                client.remove(f"{path}/{obj['metadata']['name']}")


def patched(client: Client) -> Json:
    """Play every patch."""
    rng = random.Random(6902)
    objects = {"thing": f"{THINGS}/thing", "deployment": f"{DEPLOYMENTS}/web"}
    found: Json = {
        "objects": {name: stripped(client.ask("GET", path).body) for name, path in objects.items()}
    }
    played = (
        ("json", objects["thing"], json_patches(rng), ("Warn", "Ignore")),
        ("merge", objects["thing"], merge_patches(rng), ("Warn", "Ignore")),
        ("strategic-merge", objects["deployment"], strategic_patches(rng), ("Warn",)),
    )
    for kind, path, patches, validations in played:
        found[kind] = []
        for patch in patches:
            content = json.dumps(patch).encode()
            shapeless = not isinstance(patch, dict) and len(content) < 40
            for validation in validations if shapeless else validations[:1]:
                query = f"?dryRun=All&fieldValidation={validation}"
                answer = client.send("PATCH", path + query, content, FORMS[kind])
                found[kind].append(
                    {"patch": patch, "checked": validation != "Ignore", **outcome(answer)}
                )
    return found


def stripped(obj: Json) -> Json:
    """Drop what differs from run to run."""
    metadata = {name: obj["metadata"][name] for name in KEPT if name in obj["metadata"]}
    kept = {name: value for name, value in obj.items() if name not in ("metadata", "status")}
    return {**kept, "metadata": metadata}


def outcome(answer: Answer) -> Json:
    """Return what is recorded of an answer."""
    body = answer.body
    if answer.code < 300:
        return {"code": answer.code, "object": stripped(body)}
    kept = ("message", "reason", "details")
    return {"code": answer.code, **{name: body[name] for name in kept if name in body}}


def selections(client: Client) -> Json:
    """Ask with label and field selectors."""

    def asked(path: str, parameter: str, text: str) -> Any:
        answer = client.ask("GET", f"{path}?{parameter}={quote(text)}")
        return answer.body["message"] if answer.code > 299 else bool(answer.body["items"])

    return {
        "labels": {each: asked(THINGS, "labelSelector", each) for each in LABELS},
        "custom": {each: asked(THINGS, "fieldSelector", each) for each in FIELDS},
        "plain": {each: asked(CONFIG_MAPS, "fieldSelector", each) for each in FIELDS},
        "kinds": {
            kind: {each: asked(path, "fieldSelector", f"{each}=none") for each in ASKED}
            for kind, path in KINDS.items()
        },
    }


def main() -> None:
    """Record, and write the file."""
    run(record, command_line(__doc__).parse_args())


if __name__ == "__main__":
    main()
