"""
Delete all objects that are selected, one by one.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/registry/generic/registry/store.go
Store.DeleteCollection.
"""

from datetime import datetime

from kube_sandbox.api_errors import StatusError
from kube_sandbox.endpoints.deletion import Deleter, warnings
from kube_sandbox.endpoints.options import delete_options
from kube_sandbox.endpoints.read import Reader, list_metadata, version_options_of
from kube_sandbox.endpoints.request_info import Request
from kube_sandbox.endpoints.responses import Response
from kube_sandbox.registry.kinds import Served


def delete_collection(
    reader: Reader, deleter: Deleter, served: Served, request: Request, now: datetime
) -> Response:
    """Delete objects; the answer lists them as they were."""
    rendering = reader.rendering(served, request)
    selected, asked = reader.selected(served, request), version_options_of(request.query)
    options = delete_options(request.query, request.body)
    found = reader.page(selected, asked)
    for record in found.records:
        try:
            deleter.delete(served, record.namespace, record.name, options, now)
        except StatusError as error:
            if error.code != 404:  # another client deleted it, or it was deleted with its owner
                raise
    answer = rendering.many(found.records, list_metadata(found))
    answer.warnings = warnings(served, options)
    return answer
