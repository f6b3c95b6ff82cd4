"""An API server without a port: requests are function calls."""

import asyncio
from pathlib import Path
from typing import Any

import orjson

from kube_sandbox.api_errors import StatusError
from kube_sandbox.authentication.certificates import ensure_keys
from kube_sandbox.endpoints.interface import HTTPRequest
from kube_sandbox.endpoints.responses import Response
from kube_sandbox.storage.store import Store
from kube_sandbox.wiring import APIServerComponents, now

_TOKEN = "secret"


class InProcessAPI:
    """Use it in a running event loop."""

    def __init__(self, folder: Path) -> None:
        self.store = Store()
        keys = ensure_keys(folder / "keys", now())
        self._server = APIServerComponents(self.store, keys, _TOKEN, accounts=False)
        self._server.open("127.0.0.1:6443")
        self._server.create_bootstrap_objects(6443)

    def ask(
        self, method: str, path: str, body: Any = b"", content_type: str = "application/json"
    ) -> tuple[int, Any]:
        """Return the code and the body of the answer; what is not bytes is sent as JSON."""
        data = body if isinstance(body, bytes) else orjson.dumps(body)
        headers = {"Authorization": f"Bearer {_TOKEN}", "Content-Type": content_type}
        target, _, query = path.partition("?")
        try:
            found = self._server.answer(HTTPRequest(method, target, query, headers, data))
        except StatusError as error:
            return error.code, error.status()
        assert isinstance(found, Response)
        return found.code, orjson.loads(found.body)

    async def serve(self, definition: Any) -> None:
        """Create a CustomResourceDefinition and wait until its kind is served."""
        code, answer = self.ask(
            "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition
        )
        assert code == 201, answer
        for _ in range(20):  # turns of the loop, in which the controller of definitions works
            await asyncio.sleep(0)
        spec = definition["spec"]
        path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
        code, answer = self.ask("GET", path)
        assert code == 200, answer
