"""
Content negotiation: the object, its metadata only, or a table.

Only JSON is spoken (and YAML, to the client for nothing else); the forms are parameters of the
media type, as in `application/json;as=Table;v=v1;g=meta.k8s.io`.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/endpoints/handlers/negotiation/negotiate.go
NegotiateOutputMediaType, NegotiateMediaTypeOptions, acceptMediaTypeOptions;
k8s.io/apiserver/pkg/endpoints/handlers/negotiation/errors.go NewNotAcceptableError.
"""

from dataclasses import dataclass
from enum import StrEnum

from kube_sandbox.api_errors import StatusError, not_acceptable

JSON = "application/json"
YAML = "application/yaml"
SUPPORTED_MEDIA_TYPES = (JSON, YAML)
_PROTOBUF = "application/vnd.kubernetes.protobuf"
ACCEPTED = (*SUPPORTED_MEDIA_TYPES, _PROTOBUF)  # what a real API server says it would speak
_STREAMED = (f"{JSON};stream=watch", f"{_PROTOBUF};stream=watch")
_ANY = frozenset(("", "*/*", "application/*", JSON))
_META_GROUP = "meta.k8s.io"
_META_VERSIONS = frozenset(("v1", "v1beta1"))


class Shape(StrEnum):
    """What is made of an object."""

    OBJECT = ""
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"
    METADATA_LIST = "PartialObjectMetadataList"


@dataclass(frozen=True, slots=True)
class Form:
    """How an answer is given."""

    shape: Shape = Shape.OBJECT
    media_type: str = JSON
    version: str = "v1"  # of the form itself


PLAIN = Form()


def negotiate(accept: str, *, is_custom: bool = True, is_list: bool = False) -> Form:
    """Choose the first form that can be given; raise if there is none."""
    if accept in _ANY:
        return PLAIN
    if not is_custom:
        types = {each.split(";", 1)[0].strip() for each in accept.split(",")}
        if types.isdisjoint({*_ANY, *ACCEPTED}):
            message = ", ".join((*ACCEPTED, *_STREAMED) if is_list else ACCEPTED)
            text = f"406: Not Acceptable\n\nAvailable representations: {message}"
            raise StatusError(406, "NotAcceptable", text, {})
    clauses = [[part.strip() for part in each.split(";")] for each in accept.split(",")]
    for clause in sorted(clauses, key=_quality, reverse=True):
        media_type, *parts = clause
        if media_type not in _ANY and media_type != YAML:
            form: Form | None = None
        else:
            said = dict(part.split("=", 1) for part in parts if "=" in part)
            written = YAML if media_type == YAML else JSON
            wanted = said.get("as")
            if wanted is None:
                form = Form(media_type=written)
            elif (
                said.get("g") != _META_GROUP
                or said.get("v") not in _META_VERSIONS
                or wanted not in set(Shape) - {Shape.OBJECT}
            ):
                form = None
            else:
                form = Form(Shape(wanted), written, said["v"])
        if form is not None:
            return form
    raise not_acceptable(ACCEPTED)


def _quality(clause: list[str]) -> float:
    for part in clause[1:]:
        if part.startswith("q="):
            try:
                return float(part[2:])
            except ValueError:
                return 0.0
    return 1.0
