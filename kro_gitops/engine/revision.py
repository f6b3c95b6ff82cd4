"""
Graph revisions: when a new one is issued, what it is called, how many are kept.

Every accepted change of a definition's spec is kept as an immutable GraphRevision. Whether a change
matters is decided by a hash over the spec in a normal form: spelling, the order of resources and of
conditions do not matter, the order of `forEach` dimensions does. A spec that returns to a former
state gets a new number: revisions are a history.

Hash and names are exactly kro's, so that nothing is issued again after a switch from or to kro.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from kro_gitops.engine.kinds import DEFINITION_KIND
from kro_gitops.engine.kinds import REVISION_KIND as REVISION_KIND
from kro_gitops.engine.labels import revision_labels
from kro_gitops.metadata import KRO_GROUP
from kube_cel.library.json_encoder import encode_json, quote_json
from kube_objects.refs import KubeObject

REVISION_PLURAL = "graphrevisions"

_MAX_NAME = 253
_FNV_32 = (0x811C9DC5, 0x01000193, 32)
_FNV_64 = (0xCBF29CE484222325, 0x100000001B3, 64)

Json = str


def spec_hash(spec: Mapping[str, Any]) -> str:
    """Return the hash of a definition's spec, 16 hexadecimal digits."""
    resources = sorted(_items(spec.get("resources")), key=lambda each: _text(each, "id"))
    schema = spec.get("schema")
    return _fnv1a(
        _object(
            schema=_schema(schema) if isinstance(schema, dict) else "",
            resources=_array(map(_resource, resources)),
        ),
        *_FNV_64,
    )


def next_number(last_issued: int, live: Iterable[int]) -> int:
    """Return a number never used before; `last_issued` remembers revisions that are gone."""
    return max((last_issued, *live)) + 1


def expired_numbers(live: Iterable[int], keep: int) -> list[int]:
    """Return the numbers of revisions to delete, oldest first; keep all if `keep` is none."""
    return sorted(live)[:-keep] if keep > 0 else []


def revision_name(definition: str, number: int) -> str:
    """Return the name of a revision: `shop-r00001`, with a hash where that is too long."""
    suffix = f"-r{number:05d}"
    if len(definition) + len(suffix) <= _MAX_NAME:
        return definition + suffix
    suffix = f"{suffix}-{_fnv1a(definition, *_FNV_32)}"
    stem = definition[: _MAX_NAME - len(suffix)].rstrip(".-")
    return (stem or "gr") + suffix


def revision_object(definition: KubeObject, number: int, version: str) -> KubeObject:
    """Build the GraphRevision that keeps the current spec of a definition."""
    about, spec = definition["metadata"], definition["spec"]
    return {
        "apiVersion": REVISION_KIND.api_version,
        "kind": REVISION_KIND.kind,
        "metadata": {
            "name": revision_name(about["name"], number),
            "labels": revision_labels(about["name"], spec_hash(spec), version),
            "ownerReferences": [revision_owner(about["name"], about["uid"])],
        },
        "spec": {
            "revision": number,
            "snapshot": {
                "name": about["name"],
                "generation": about.get("generation", 0),
                "spec": spec,
            },
        },
    }


def revision_owner(name: str, uid: str) -> KubeObject:
    """Return the owner reference by which a revision is deleted with its definition."""
    return {
        "apiVersion": DEFINITION_KIND.api_version,
        "kind": DEFINITION_KIND.kind,
        "name": name,
        "uid": uid,
        "controller": True,
    }


def _fnv1a(text: str, offset: int, prime: int, bits: int) -> str:
    digest, mask = offset, (1 << bits) - 1
    for byte in text.encode():
        digest = (digest ^ byte) * prime & mask
    return f"{digest:0{bits // 4}x}"


# The normal form is the text that Go's encoder writes for kro's types: members in the order they
# are declared in, empty ones left out, but free-form blocks always there.


def _schema(schema: Mapping[str, Any]) -> Json:
    columns = (
        _object(
            name=quote_json(_text(column, "name")),
            type=quote_json(_text(column, "type")),
            format=_string(column, "format"),
            description=_string(column, "description"),
            priority=str(column["priority"]) if column.get("priority") else "",
            jsonPath=quote_json(_text(column, "jsonPath")),
        )
        for column in _items(schema.get("additionalPrinterColumns"))
    )
    metadata = ""
    if isinstance(schema.get("metadata"), dict):
        labels, annotations = (schema["metadata"].get(key) for key in ("labels", "annotations"))
        metadata = _object(
            labels=encode_json(labels, {}) if labels else "",
            annotations=encode_json(annotations, {}) if annotations else "",
        )
    return _object(
        kind=_string(schema, "kind"),
        apiVersion=_string(schema, "apiVersion"),
        group=quote_json(_text(schema, "group") or KRO_GROUP),
        spec=_free(schema.get("spec")),
        types=_free(schema.get("types")),
        status=_free(schema.get("status")),
        scope=quote_json(_text(schema, "scope") or "Namespaced"),
        additionalPrinterColumns=_array(columns),
        shortNames=_strings(schema.get("shortNames")),
        categories=_strings(schema.get("categories")),
        metadata=metadata,
    )


def _resource(resource: Mapping[str, Any]) -> Json:
    reference, external = "", resource.get("externalRef")
    if isinstance(external, dict):
        about = external.get("metadata")
        about = about if isinstance(about, dict) else {}
        reference = _object(
            apiVersion=quote_json(_text(external, "apiVersion")),
            kind=quote_json(_text(external, "kind")),
            metadata=_object(
                name=_string(about, "name"),
                namespace=_string(about, "namespace"),
                # kro does not normalise this one: numbers stay as they are.
                selector=encode_json(about.get("selector"), {}),
            ),
        )
    return _object(
        id=_string(resource, "id"),
        template=_free(resource.get("template")),
        externalRef=reference,
        readyWhen=_strings(resource.get("readyWhen"), in_order=False),
        includeWhen=_strings(resource.get("includeWhen"), in_order=False),
        forEach=_array(encode_json(each, {}) for each in _items(resource.get("forEach"))),
    )


def _object(**members: Json) -> Json:
    written = (f'"{name}":{text}' for name, text in members.items() if text)
    return "{" + ",".join(written) + "}"


def _array(elements: Iterable[Json]) -> Json:
    written = ",".join(elements)
    return f"[{written}]" if written else ""


def _strings(value: Any, *, in_order: bool = True) -> Json:
    texts = [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
    return _array(map(quote_json, texts if in_order else sorted(texts)))


def _string(owner: Mapping[str, Any], name: str) -> Json:
    text = _text(owner, name)
    return quote_json(text) if text else ""


def _free(value: Any) -> Json:
    """Write a free-form block; every number in it goes through a double, as Go reads them."""
    return encode_json(value, {int: _double})


def _double(number: int) -> float | int:
    try:
        return float(number)
    except OverflowError:
        return number


def _text(owner: Mapping[str, Any], name: str) -> str:
    value = owner.get(name)
    return value if isinstance(value, str) else ""


def _items(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
