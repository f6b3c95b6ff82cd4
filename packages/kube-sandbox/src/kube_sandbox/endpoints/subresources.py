"""
What is served at an object's path but is no view of it, and kinds that are answered, never stored.

Scales, tokens of service accounts, the finalizers of a namespace; reviews of who may do what.

Follows kubernetes 1.35 pkg/registry/core/rest/storage_core.go legacyProvider.NewRESTStorage;
pkg/registry/core/namespace/storage/storage.go FinalizeREST.Update;
pkg/registry/core/serviceaccount/storage/token.go TokenREST.Create.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import orjson

from kube_objects.refs import KubeObject
from kube_sandbox import api_errors
from kube_sandbox.authentication.tokens import TokenIssuer
from kube_sandbox.authorization.reviews import Reviews
from kube_sandbox.endpoints import json_bodies
from kube_sandbox.endpoints.json_bodies import BodyError
from kube_sandbox.endpoints.options import write_options
from kube_sandbox.endpoints.request_info import Request
from kube_sandbox.endpoints.responses import Response
from kube_sandbox.endpoints.scale import ScaleHandler
from kube_sandbox.endpoints.write import Writer
from kube_sandbox.endpoints.write_request import WriteRequest
from kube_sandbox.registry.kinds import Served

SpecialHandler = Callable[[Served, Request], Response]


class SubresourceHandlers:
    """Answers what is special."""

    def __init__(
        self,
        writer: Writer,
        reviews: Reviews,
        tokens: TokenIssuer,
        clock: Callable[[], datetime],
        new_uid: Callable[[], str],
    ) -> None:
        self._stored = writer.stored
        self._writer = writer
        self._reviews = reviews
        self._tokens = tokens
        self._clock = clock
        self._new_uid = new_uid

    def table(self) -> Mapping[str, SpecialHandler]:
        """Return who answers what: by bucket and subresource, or by subresource alone."""
        return {
            "scale": ScaleHandler(self._writer, self._clock).answer,
            "namespaces/finalize": self._finalize,
            "serviceaccounts/token": self._token,
            **{f"{kind}/": self._review for kind in Reviews.kinds},
        }

    # Others

    def _finalize(self, served: Served, request: Request) -> Response:
        options = write_options(request.query, "UpdateOptions")
        write_request = WriteRequest.of(served, request, options, self._clock())
        written = self._writer.update(write_request, _body(request))
        return _answer(200, written.value)

    def _token(self, served: Served, request: Request) -> Response:
        target = request.target
        account = self._stored.find(served, target.namespace, target.name)
        if account is None:
            raise api_errors.not_found(served.kind.group, served.plural, target.name)
        issued = self._tokens.issue(_body(request), account, self._clock(), self._new_uid())
        return _answer(201, issued)

    def _review(self, served: Served, request: Request) -> Response:
        """Answer a review; it is created, but not stored, hence 201 without a name."""
        namespace = request.target.namespace
        answer = self._reviews.answer(
            served.bucket, _body(request), namespace, request.asker, self._clock()
        )
        return _answer(201, answer)


def _body(request: Request) -> Any:
    try:
        return json_bodies.parsed(request.body)
    except BodyError as error:
        raise api_errors.bad_request(
            f"couldn't get version/kind; json parse error: {error}"
        ) from error


def _answer(code: int, obj: KubeObject) -> Response:
    return Response(code, orjson.dumps(obj))
