"""
What is at the paths that name no resource: discovery, OpenAPI, health, the version.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/server/healthz/healthz.go InstallPathHandler;
k8s.io/apiserver/pkg/server/routes/version.go Version.Install; pkg/routes/openidmetadata.go
OpenIDMetadataServer.Install.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

import orjson

from kube_sandbox.authentication.tokens import TokenIssuer
from kube_sandbox.discovery.openapi import OpenAPIDocuments
from kube_sandbox.discovery.resources import Discovery, Document
from kube_sandbox.endpoints.interface import HTTPRequest
from kube_sandbox.endpoints.request_info import Query
from kube_sandbox.endpoints.responses import Response
from kube_sandbox.registry.builtin_resources import server_version

_TEXT = "text/plain; charset=utf-8"
_HEALTH = frozenset(("/healthz", "/livez", "/readyz"))
_OPENAPI = "/openapi/v3"
# The older form has no schemas: kubectl looks there for kinds that it finds nowhere else.
_OPENAPI_V2 = {"swagger": "2.0", "info": {"title": "Kubernetes", "version": "1.35"}, "paths": {}}
_OPENAPI_V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_OPENAPI_V2_ENCODED = b"\x0a\x032.0\x12\x12\x0a\x0aKubernetes\x12\x041.35\x42\x00"


class NonResourceHandler:
    """Answers what is asked of no resource."""

    def __init__(
        self,
        discovery: Discovery,
        openapi: OpenAPIDocuments,
        tokens: TokenIssuer,
        address: str,
        clock: Callable[[], datetime],
    ) -> None:
        self._discovery = discovery
        self._openapi = openapi
        self._tokens = tokens
        self._address = address
        self._clock = clock

    def find(self, call: HTTPRequest) -> Response | None:
        """Return what is at a path, or `None`."""
        if call.method not in ("GET", "HEAD"):
            return None
        path = call.path.rstrip("/") or "/"
        if path in _HEALTH or path.startswith(tuple(f"{each}/" for each in _HEALTH)):
            return Response(200, b"ok", _TEXT)
        if path == "/openapi/v2" and "protobuf" in call.headers.get("Accept", ""):
            return Response(200, _OPENAPI_V2_ENCODED, _OPENAPI_V2_PROTOBUF)
        match path:
            case "/version":
                fixed: object = server_version()
            case "/openapi/v2":
                fixed = _OPENAPI_V2
            case "/openid/v1/jwks":
                fixed = self._tokens.keys()
            case "/.well-known/openid-configuration":
                fixed = self._tokens.configuration(self._address)
            case "/":
                fixed = {"paths": ["/api", "/apis", "/healthz", _OPENAPI, "/version"]}
            case _:
                fixed = None
        if fixed is not None:
            return Response(200, orjson.dumps(fixed))
        accept, etag = call.headers.get("Accept", ""), call.headers.get("If-None-Match", "")
        found: Document | None
        if path.startswith(_OPENAPI):
            query = Query.parse(call.query)
            if path == _OPENAPI:
                found = self._openapi.index()
            else:
                name = path.removeprefix(f"{_OPENAPI}/")
                found = self._openapi.find(
                    name, self._clock(), wanted=query.get("hash"), accept=accept, etag=etag
                )
        else:
            found = self._discovery.find(path, accept, etag)
        if found is None:
            return None
        headers: Mapping[str, str] = found.headers
        content_type = headers.get("Content-Type", "application/json")
        rest = {key: value for key, value in headers.items() if key != "Content-Type"}
        return Response(found.code, found.body, content_type, headers=rest)
