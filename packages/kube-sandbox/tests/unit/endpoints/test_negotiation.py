"""In which form an answer is wanted."""

import pytest

from kube_sandbox.api_errors import StatusError
from kube_sandbox.endpoints.negotiation import JSON, YAML, Form, Shape, negotiate

_META = "v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", Form()),
        ("*/*", Form()),
        ("application/json", Form()),
        ("application/yaml", Form(media_type=YAML)),
        (f"application/json;as=Table;{_META},application/json", Form(Shape.TABLE)),
        (f"application/json;as=PartialObjectMetadataList;{_META}", Form(Shape.METADATA_LIST)),
        ("application/vnd.kubernetes.protobuf,application/json", Form()),
        (f"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;{_META},"
         f"application/json;as=PartialObjectMetadata;{_META},application/json",
         Form(Shape.METADATA)),
        ("application/yaml;q=0.5, application/json;q=0.9", Form(media_type=JSON)),
        ("application/json;as=Unheard;v=v1;g=meta.k8s.io,application/json", Form()),
    ],
)  # fmt: skip
def test_the_first_form_that_can_be_given_is(accept: str, form: Form) -> None:
    assert negotiate(accept) == form


def test_who_wants_no_json_gets_nothing() -> None:
    with pytest.raises(StatusError) as caught:
        negotiate("application/vnd.kubernetes.protobuf")
    assert (caught.value.code, caught.value.reason) == (406, "NotAcceptable")
