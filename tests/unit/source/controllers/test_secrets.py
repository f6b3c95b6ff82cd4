"""The one place where the token of a webhook is read."""

from base64 import b64encode
from typing import cast

import pytest

from kro_gitops.errors import NotYet, UserError
from kro_gitops.kube.api import Reader
from kro_gitops.source.api.resources import GIT_SOURCE_KIND
from kro_gitops.source.api.types import SourceSpec, Webhook
from kro_gitops.source.controllers.secrets import read_receiver, read_secret
from kro_gitops.source.webhooks.endpoints import receiver_path
from kube_objects.refs import KubeObject, ObjectRef

KEY = ObjectRef(GIT_SOURCE_KIND, "team", "shop")
SPEC = SourceSpec(url="https://example.org/shop", webhook=Webhook(secret="hook"))


class Secrets:
    """A cluster that has Secrets and nothing else."""

    def __init__(self, **data: str) -> None:
        self.asked: list[str] = []
        self._data = data

    async def find(self, ref: ObjectRef) -> KubeObject | None:
        self.asked.append(f"{ref.namespace}/{ref.name}")
        return {"data": self._data} if self._data else None


def reader(secrets: Secrets) -> Reader:
    return cast("Reader", secrets)


async def test_an_endpoint_has_the_path_of_its_token() -> None:
    secrets = Secrets(token=b64encode(b" s3cret\n").decode())
    receiver = await read_receiver(reader(secrets), KEY, SPEC)
    assert receiver is not None
    assert receiver.path == receiver_path(b"s3cret", "shop", "team")
    assert receiver.url == SPEC.url
    assert secrets.asked == ["team/hook"]


async def test_a_source_without_a_webhook_reads_nothing() -> None:
    secrets = Secrets()
    spec = SourceSpec(url="https://example.org/shop")
    assert await read_receiver(reader(secrets), KEY, spec) is None
    assert secrets.asked == []


async def test_a_secret_that_is_missing_may_come() -> None:
    with pytest.raises(NotYet, match="team/hook"):
        await read_receiver(reader(Secrets()), KEY, SPEC)


async def test_a_secret_without_a_token_is_wrong() -> None:
    with pytest.raises(UserError, match="has no 'token'"):
        await read_receiver(reader(Secrets(password="eA==")), KEY, SPEC)


async def test_what_is_not_base64_is_wrong() -> None:
    with pytest.raises(UserError, match="not base64"):
        await read_secret(reader(Secrets(token="x")), "team", "hook")
