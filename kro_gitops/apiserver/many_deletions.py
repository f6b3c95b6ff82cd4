"""
Delete all objects that are selected, one by one.
"""

from datetime import datetime

from kro_gitops.apiserver.answers import Answer
from kro_gitops.apiserver.deleting import Deleter, warnings
from kro_gitops.apiserver.kinds import Served
from kro_gitops.apiserver.options import delete_options
from kro_gitops.apiserver.reading import Reader, asked_of, list_metadata
from kro_gitops.apiserver.requests import Request
from kro_gitops.apiserver.statuses import StatusError


def delete_collection(
    reader: Reader, deleter: Deleter, served: Served, request: Request, now: datetime
) -> Answer:
    """Delete objects; the answer lists them as they were."""
    rendering = reader.rendering(served, request)
    selected, asked = reader.selected(served, request), asked_of(request.query)
    options = delete_options(request.query, request.body)
    found = reader.page(selected, asked)
    for record in found.records:
        try:
            deleter.delete(served, record.namespace, record.name, options, now)
        except StatusError as error:
            if error.code != 404:  # somebody else was quicker, or it went with another
                raise
    answer = rendering.many(found.records, list_metadata(found))
    answer.warnings = warnings(served, options)
    return answer
