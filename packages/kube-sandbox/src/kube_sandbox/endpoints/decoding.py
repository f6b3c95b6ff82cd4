"""
Decodes a request body into an object of a served kind.

JSON is tried first, because nearly all clients send it; YAML is decoded if the content type names
it. `round_trip_of` handles the fields of built-in kinds (types, unknown fields, nulls), and the
strategy those of custom kinds.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/endpoints/handlers/create.go createHandler;
k8s.io/apiserver/pkg/endpoints/handlers/patch.go applyPatcher.applyPatchToCurrentObject,
applyPatchToObject; k8s.io/apiserver/pkg/endpoints/handlers/rest.go transformDecodeError,
summarizeData.
"""

import re
from typing import TYPE_CHECKING, Any

import orjson

from kube_objects.builtins.catalog import catalog
from kube_objects.go_format import format_value
from kube_objects.go_text import quote
from kube_objects.refs import Kind, KubeObject
from kube_objects.yaml_scalars import json_number
from kube_sandbox import api_errors
from kube_sandbox.apiextensions.customresource.strategy import CustomStrategy
from kube_sandbox.endpoints import json_bodies
from kube_sandbox.endpoints.json_bodies import BodyError
from kube_sandbox.endpoints.negotiation import ACCEPTED
from kube_sandbox.lazy import lazy_module
from kube_sandbox.patch.json_patch import JSON_PATCH, MERGE_PATCH
from kube_sandbox.registry.builtin.go_codec.round_trip import round_trip_of, strict_refusal
from kube_sandbox.registry.builtin.go_codec.strict_decoding import duplicate_fields, has_duplicates
from kube_sandbox.registry.builtin_resources import internal_type
from kube_sandbox.registry.field_errors import invalid
from kube_sandbox.registry.kinds import Served

if TYPE_CHECKING:
    from kube_sandbox.endpoints import yaml_bodies
else:
    yaml_bodies = lazy_module("kube_sandbox.endpoints.yaml_bodies")

_JSON = "application/json"
_YAML = "application/yaml"
_ACCEPTED = (_JSON, _YAML)
# Groups whose servers know no kinds but their own.
_SEPARATE_SERVER_GROUPS = frozenset(("apiextensions.k8s.io", "apiregistration.k8s.io"))
# What may be a number that is written otherwise than Go writes it: with a point, an exponent or
# more digits than fit.
_SPECIAL_NUMBERS = re.compile(rb"\d[.eE]|\d{19}")
_MAX_SHOWN_LENGTH = 30  # bytes of a body that makes no sense
_CHECKED_PATCHES = (JSON_PATCH, MERGE_PATCH)


class BodyDecoder:
    """Reads bodies."""

    def read(
        self, served: Served, data: bytes, content_type: str, validation: str
    ) -> tuple[KubeObject, list[str]]:
        """Return the object that was sent with its defaults, and what its author should know."""
        media_type = content_type.split(";", 1)[0].strip()
        if media_type and media_type not in _ACCEPTED:
            raise api_errors.unsupported_media_type(ACCEPTED)
        try:
            obj = _loaded(data, is_yaml=media_type == _YAML)
        except BodyError as error:
            prefix = "" if media_type == _YAML else "couldn't get version/kind; json parse error: "
            raise _unrecognized(served, f"{prefix}{error}", data) from error
        if obj is None:
            obj = {}
        elif not isinstance(obj, dict):
            parsed_why = (
                f"couldn't get version/kind; json parse error: json: cannot unmarshal "
                f"{_json_kind(obj)} into Go value of type struct "
                '{ APIVersion string "json:\\"apiVersion,omitempty\\""; '
                'Kind string "json:\\"kind,omitempty\\"" }'
            )
            raise _unrecognized(served, parsed_why, data)
        _check_kind(served, obj, data)
        obj, mistakes = _shaped(served, obj)
        if validation == "Ignore":
            mistakes = []
        elif has_duplicates(data):
            # All mistakes of a body in which a field stands twice.
            form = None if served.is_custom else round_trip_of(served.kind)
            if form is not None:
                mistakes = form.strict_errors(data)
            else:
                mistakes = [
                    *(f"duplicate field {quote(each)}" for each in duplicate_fields(data)),
                    *mistakes,
                ]
        if mistakes and validation == "Strict":
            why = strict_refusal(mistakes)
            kind = served.kind
            subject = (
                f"{kind.kind} in version {quote(kind.version)} cannot be handled as a {kind.kind}"
            )
            raise api_errors.bad_request(f"{subject}: {why}")
        served.strategy.default(obj)
        return obj, mistakes

    def patched(
        self, served: Served, obj: KubeObject, validation: str, strategic: Any = None
    ) -> tuple[KubeObject, list[str]]:
        """
        Return what a patch made of an object, and what its author should know.

        A strategic merge patch is given too: of it another text is shown, and in other words.
        """
        sent = orjson.dumps(obj) if served.is_custom else b""  # reading changes it
        try:
            if strategic is None and not served.is_custom:
                # A patch cannot make another kind of an object.
                kind = served.kind
                given = Kind.of(
                    obj.get("apiVersion") or kind.api_version, obj.get("kind") or kind.kind
                )
                if given != kind:
                    raise _other_kind(served, given)
            found, mistakes = _shaped(served, obj)
        except api_errors.StatusError as error:
            if strategic is not None:
                raise _invalid_patch(
                    _printed(strategic), _yaml_type_error(served, obj, error)
                ) from error
            raise _invalid_patch(
                sent.decode() or _text(obj), _decoding_reason(served, error)
            ) from error
        if mistakes and validation == "Strict":
            shown = sent.decode() or _text(obj) if strategic is None else _printed(strategic)
            raise _invalid_patch(shown, strict_refusal(sorted(mistakes)))
        served.strategy.default(found)
        return found, sorted(mistakes) if validation == "Warn" else []

    def normal(self, served: Served, obj: KubeObject, config: KubeObject) -> KubeObject:
        """Return what applying a configuration made of an object, with its defaults."""
        strategy = served.strategy
        if isinstance(strategy, CustomStrategy):
            strategy.fill(obj)
            return obj
        try:
            found, _ = _shaped(served, obj)
        except api_errors.StatusError as error:
            metadata, kind = config.get("metadata") or {}, served.kind
            place = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
            named = f"{kind.group}/{kind.version}, Kind={kind.kind}"
            text = f"failed to convert new object ({place}; {named}) to proper version: "
            why = _yaml_type_error(served, obj, error)
            text += f"unable to convert unstructured object to {named}: {why}"
            raise api_errors.StatusError(500, "", text) from error
        served.strategy.default(found)
        return found


def _shaped(served: Served, obj: KubeObject) -> tuple[KubeObject, list[str]]:
    """Return an object in the form of its kind, and the messages about unknown fields."""
    strategy = served.strategy
    if isinstance(strategy, CustomStrategy):
        if obj.get("kind") != served.kind.kind:
            return obj, []  # it is rejected, but not for its fields
        unknown = strategy.decode(obj)
        return obj, [f"unknown field {quote(each)}" for each in unknown]
    form = round_trip_of(served.kind)
    if form is None:
        return obj, []
    found, unknown = form.read(obj)
    found["apiVersion"], found["kind"] = served.kind.api_version, served.kind.kind
    metadata = obj.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") == []:
        found.setdefault("metadata", {})["managedFields"] = []  # no field has an owner
    return found, unknown


def parse_apply(data: bytes) -> KubeObject:
    """Read the body of an apply: YAML, of which JSON is a part."""
    try:
        found = _loaded(data, is_yaml=True)
    except BodyError as error:
        why = f"error decoding YAML: error converting YAML to JSON: {error}"
        raise api_errors.bad_request(why) from error
    if _SPECIAL_NUMBERS.search(data):
        found = _renumbered(found)
    if not isinstance(found, dict):
        text = "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal"
        kind = _json_kind(found)
        raise api_errors.bad_request(
            f"error decoding YAML: {text} {kind} into Go value of type map[string]interface {{}}"
        )
    return found


def parse_patch(data: bytes, patch_type: str, *, checked: bool) -> Any:
    """Read the body of another patch; `checked` stands for fieldValidation Strict and Warn."""
    try:
        return json_bodies.parsed(data)
    except BodyError as error:
        # Only a JSON patch and a merge patch are decoded twice when they are checked, and of the
        # two only the first decoder says more about an unchecked one.
        if patch_type == MERGE_PATCH and not checked:
            raise api_errors.bad_request("Invalid JSON Patch") from error
        prefix = "error decoding patch: " if checked and patch_type in _CHECKED_PATCHES else ""
        raise api_errors.bad_request(f"{prefix}{error}") from error


def _renumbered(value: Any) -> Any:
    """Return data with numbers as Go has them after JSON: `2.0` is 2."""
    if isinstance(value, dict):
        return {key: _renumbered(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_renumbered(each) for each in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return json_number(value)


def _loaded(data: bytes, *, is_yaml: bool) -> Any:
    try:
        return json_bodies.parsed(data)
    except BodyError:
        if not is_yaml:
            raise
    return yaml_bodies.parsed(data)


def _check_kind(served: Served, obj: KubeObject, data: bytes) -> None:
    """Reject an object of another kind; of a built-in one it need not be said."""
    kind = served.kind
    for name in ("apiVersion", "kind"):
        if not isinstance(value := obj.get(name), str | None):
            why = f"json: cannot unmarshal {_json_kind(value)} into Go struct field .{name} of type"
            why = f"couldn't get version/kind; json parse error: {why} string"
            raise _unrecognized(served, why, data)
    version = obj.get("apiVersion") or ""
    if version.count("/") > 1:
        raise _unrecognized(served, f"unexpected GroupVersion string: {version}", data)
    if served.is_custom:
        custom_version, expected = obj.get("apiVersion") or "", served.kind.api_version
        if not obj.get("kind"):
            shown = data.decode(errors="replace")
            raise _unrecognized(served, f"Object 'Kind' is missing in '{shown}'", data)
        if custom_version != expected:
            raise _other_version(custom_version, expected)
        return
    given = Kind.of(version or kind.api_version, obj.get("kind") or kind.kind)
    if given != kind:
        raise _other_kind(served, given)
    obj["apiVersion"], obj["kind"] = kind.api_version, kind.kind


def _other_version(given: str, expected: str) -> api_errors.StatusError:
    return api_errors.bad_request(
        f"the API version in the data ({given}) does not match the expected API version "
        f"({expected})"
    )


def _other_kind(served: Served, given: Kind) -> api_errors.StatusError:
    kind = served.kind
    is_apart = kind.group in _SEPARATE_SERVER_GROUPS and given.group != kind.group
    if is_apart or catalog.find(given) is None:
        why = (
            f"no kind {quote(given.kind)} is registered for version {quote(given.api_version)} "
            'in scheme "pkg/runtime/scheme.go:111"'
        )
    elif (given.group, given.kind) == (kind.group, kind.kind):
        return _other_version(given.api_version, kind.api_version)
    else:
        source, goal = f"{given.version}.{given.kind}", internal_type(served)
        why = f"converting ({source}) to ({goal}): unknown conversion"
    subject = f"{given.kind} in version {quote(given.version)}"
    return api_errors.bad_request(f"{subject} cannot be handled as a {kind.kind}: {why}")


def _unrecognized(served: Served, why: str, data: bytes) -> api_errors.StatusError:
    text = f"the object provided is unrecognized (must be of type {served.kind.kind}): {why}"
    if not data:
        summary = "<empty>"
    elif data[:1] == b"{":
        summary_text = data.decode(errors="replace")
        summary = (
            f"{summary_text[:_MAX_SHOWN_LENGTH]} ..."
            if len(summary_text) > _MAX_SHOWN_LENGTH
            else summary_text
        )
    else:
        rest = " ..." if len(data) > _MAX_SHOWN_LENGTH else ""
        summary = data[:_MAX_SHOWN_LENGTH].hex() + rest
    return api_errors.bad_request(f"{text} ({summary})")


def _invalid_patch(shown: str, why: str) -> api_errors.StatusError:
    return api_errors.invalid("", "", "", [invalid("patch", shown, why)])


def _printed(patch: Any) -> str:
    """Format a strategic merge patch after its directives were applied."""
    return format_value(_without_directives(patch))


def _without_directives(patch: Any) -> Any:
    if isinstance(patch, list):
        return [_without_directives(each) for each in patch]
    if not isinstance(patch, dict):
        return patch
    return {
        key: _without_directives(held) for key, held in patch.items() if not key.startswith("$")
    }


def _text(obj: KubeObject) -> str:
    return orjson.dumps(obj).decode()


def _decoding_reason(served: Served, error: api_errors.StatusError) -> str:
    """Return what was wrong with a body, without the kind it was to be."""
    _, _, why = error.message.partition(f" as a {served.kind.kind}: ")
    return why or error.message


def _yaml_type_error(served: Served, obj: KubeObject, error: api_errors.StatusError) -> str:
    """Return the message of a type error in a body that was YAML."""
    form = None if served.is_custom else round_trip_of(served.kind)
    return (form.conversion_error(obj) if form is not None else "") or _decoding_reason(
        served, error
    )


def _json_kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    return "number"
