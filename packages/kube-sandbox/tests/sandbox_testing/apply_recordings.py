"""Replays what was recorded at a real API server, and says where it went otherwise here."""

import copy
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kube_objects.builtins.catalog import catalog
from kube_objects.defaulting import apply_defaults
from kube_objects.refs import Kind, KubeObject
from kube_sandbox.api_errors import StatusError
from kube_sandbox.managedfields.entries import without_managed_fields
from kube_sandbox.managedfields.manager import (
    Types,
    Write,
    applied,
    restore_unchanged_times,
    updated,
)

RECORDED = Path(__file__).parents[1] / "unit" / "managedfields" / "cases.json.gz"
# Read by kind and subresource: what such a write does not reach.
_RESET: dict[tuple[str, str], tuple[tuple[str, ...], ...]] = {
    ("Service", ""): (("status",),),
    ("Service", "status"): (("spec",),),
    ("Deployment", ""): (("status",),),
    ("Deployment", "status"): (("spec",), ("metadata", "labels")),
    ("Gear", ""): (("status",),),
    ("Gear", "status"): (("spec",),),
}
# It is the store that refuses, or Go's decoder; not managed fields.
_OTHERS_REFUSE = "Operation cannot be fulfilled"
_CONVERSION = "to proper version: unable to convert unstructured object"
_LATEST = "9999-01-01T00:00:00Z"


class Recording:
    """Everything in a file of recorded requests."""

    def __init__(self, path: Path = RECORDED) -> None:
        found = json.loads(gzip.decompress(path.read_bytes()))
        self.sequences: list[dict[str, Any]] = found["sequences"]
        self._custom = found["schemas"]

    def schema(self, api_version: str, kind: str) -> dict[str, Any]:
        if api_version in self._custom:
            schema: dict[str, Any] = self._custom[api_version]
            return schema
        group, _, version = api_version.rpartition("/")
        known = catalog.find(Kind(group, version, kind))
        assert known is not None
        return known.schema

    def types(self, api_version: str, kind: str) -> Types:
        return Types.of(self.schema(api_version, kind), custom=api_version in self._custom)

    def others(self, api_version: str) -> dict[str, Types]:
        is_custom = api_version in self._custom
        versions = [each for each in self._custom if is_custom and each != api_version]
        return {each: self.types(each, "Gear") for each in versions}

    def differences(self, place: int) -> Iterator[str]:
        """Yield what goes otherwise in a sequence; every step begins with the real object."""
        sequence = self.sequences[place]
        live: KubeObject | None = None
        for number, step in enumerate(sequence["steps"]):
            start = live and {**live, "apiVersion": step["apiVersion"]}
            for text in self._differences(sequence["kind"], start, step):
                yield f"{sequence['kind']} {place}, step {number}, {step['verb']}: {text}"
            if step["code"] < 300:
                live = step["answer"]

    def _differences(
        self, kind: str, live: KubeObject | None, step: dict[str, Any]
    ) -> Iterator[str]:
        version, answer, code = step["apiVersion"], step["answer"], step["code"]
        write = Write(
            step["manager"],
            _time(answer),
            version,
            step["subresource"],
            _RESET.get((kind, step["subresource"]), ()),
            kind,
            self.others(version),
        )
        types = self.types(version, kind)
        before = copy.deepcopy((live, step["sent"]))
        try:
            if step["verb"] == "apply":
                found = applied(live, step["sent"], types, write, force=step["force"])
            elif code >= 300:
                return
            else:
                new = _whole(kind, live, step)
                new = new if kind != "Gear" else apply_defaults(new, self.schema(version, kind))
                found = updated(live, new, types, write)
        except StatusError as refusal:
            if refusal.code != code or _lines(refusal.message) != _lines(answer.get("message", "")):
                yield f"refused: {refusal.message}\nbut really {code}: {answer.get('message')}"
            elif _causes(refusal.details) != _causes(answer.get("details", {})):
                yield f"other causes: {refusal.details}"
            return
        if before != (live, step["sent"]):
            yield "changed what it was given"
        text = answer.get("message", "")
        if code == 422 or text.startswith(_OTHERS_REFUSE) or _CONVERSION in text:
            return
        if code >= 300:
            yield f"not refused: {answer['message']}"
            return
        yield from self._compared(kind, live, found, step)

    def _compared(
        self, kind: str, live: KubeObject | None, found: KubeObject, step: dict[str, Any]
    ) -> Iterator[str]:
        answer = step["answer"]
        if kind == "Gear":
            found = apply_defaults(found, self.schema(step["apiVersion"], kind))
        if live is not None:
            found = restore_unchanged_times(live, _prepared(kind, live, found, step))
        found_entries = found["metadata"].get("managedFields")
        wanted = answer["metadata"].get("managedFields")
        if found_entries != wanted:
            yield f"entries\n{_difference(found_entries, wanted)}"
        elif kind != "Gear" and json.dumps(found_entries) != json.dumps(wanted):
            yield f"order\n{_shown(found_entries)}\nbut really\n{_shown(wanted)}"
        if step["verb"] == "apply":
            yield from _values(kind, found, step)


def _values(kind: str, found: KubeObject, step: dict[str, Any]) -> Iterator[str]:
    answer = step["answer"]
    for part in ["status"] if step["subresource"] else ["spec", "data"]:
        mine, real = found.get(part), answer.get(part)
        if kind == "Gear":
            mine, real = _comparable(mine or {}), _comparable(real or {})
        if kind in ("Service", "Deployment"):
            mine, real = _orders(mine or {}), _orders(real or {})
        if kind == "ConfigMap":  # a null among texts is read as an empty one
            mine = {key: value or "" for key, value in (mine or {}).items()}
        if (mine or {}) != (real or {}):
            yield f"{part}\n{json.dumps(mine)}\nbut really\n{json.dumps(real)}"
    labels = found["metadata"].get("labels") or {}
    if labels != (answer["metadata"].get("labels") or {}) and not step["subresource"]:
        yield f"labels {labels} but really {answer['metadata'].get('labels')}"


def _whole(kind: str, live: KubeObject | None, step: dict[str, Any]) -> KubeObject:
    """Return the object as it was before managed fields were worked out."""
    sent = copy.deepcopy(step["sent"])
    if step["verb"] == "patch":
        sent = _patched(live, sent)
    if kind == "Gear":
        # Metadata are read into a struct, which forgets what is empty.
        metadata = sent["metadata"].items()
        sent["metadata"] = {name: value for name, value in metadata if value}
        return {**sent, "apiVersion": step["apiVersion"], "kind": kind}
    # Defaults are somebody else's matter, so what is real is taken; but a write to the status
    # has metadata that are put back later.
    found = copy.deepcopy(without_managed_fields(step["answer"]))
    told = sent["metadata"] if step["subresource"] else step["answer"]["metadata"]
    for name in ("labels", "annotations", "finalizers"):
        found["metadata"].pop(name, None)
        if told.get(name):
            found["metadata"][name] = told[name]
    if kind == "Service" and step["verb"] == "update":
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if name not in sent["spec"]:
                del found["spec"][name]  # they are put back later
    if "managedFields" in step["sent"].get("metadata", {}):
        found["metadata"]["managedFields"] = sent["metadata"]["managedFields"]
    return found


def _prepared(kind: str, live: KubeObject, found: KubeObject, step: dict[str, Any]) -> KubeObject:
    """Return what is about to be stored: with defaults, and what is not reached as it was."""
    entries = found["metadata"].get("managedFields")
    if kind != "Gear":
        found = without_managed_fields(step["answer"])
        metadata = {**found["metadata"], "resourceVersion": live["metadata"]["resourceVersion"]}
        found = {**found, "metadata": metadata}
    elif step["subresource"]:
        found = {**live, "status": found.get("status")}
    else:
        found = {**found, "status": live.get("status")}
    found = without_managed_fields(
        {key: value for key, value in found.items() if value is not None}
    )
    if entries:
        found = {**found, "metadata": {**found["metadata"], "managedFields": entries}}
    return found


def _patched(value: Any, patch: Any) -> Any:
    """Merge a patch as RFC 7386 says."""
    if not isinstance(patch, dict):
        return patch
    found = dict(value) if isinstance(value, dict) else {}
    for key, each in patch.items():
        if each is None:
            found.pop(key, None)
        else:
            found[key] = _patched(found.get(key), each)
    return found


def _time(answer: KubeObject) -> str:
    """Return when it happened: the latest time there is."""
    entries = answer.get("metadata", {}).get("managedFields") or []
    return max((each.get("time", "") for each in entries), default="") or _LATEST


def _lines(message: str) -> list[str]:
    """Return the lines of a message in an order: the API server has errors as they come."""
    is_list = "): errors:" in message
    return sorted(message.splitlines()) if is_list else [message]


def _causes(details: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return causes in an order: the API server has one a request."""
    return sorted(tuple(sorted(each.items())) for each in details.get("causes", ()))


def _comparable(part: KubeObject) -> KubeObject:
    """Leave out objects within objects: their metadata are read into a struct, too."""
    return {key: value for key, value in part.items() if key != "embedded"}


def _orders(part: KubeObject) -> list[str]:
    """Return the names of items, in their order."""
    pod = part.get("template", {}).get("spec", {})
    items = [*part.get("ports", ()), *pod.get("containers", ())]
    variables = [each for item in items for each in item.get("env", ())]
    return [each["name"] for each in (*items, *variables)]


def _shown(entries: list[KubeObject] | None) -> str:
    return "\n".join(json.dumps(entry) for entry in entries or ())


def _difference(mine: list[KubeObject] | None, real: list[KubeObject] | None) -> str:
    only_mine = [entry for entry in mine or () if entry not in (real or ())]
    only_real = [entry for entry in real or () if entry not in (mine or ())]
    return f"{_shown(only_mine)}\nbut really\n{_shown(only_real)}"
