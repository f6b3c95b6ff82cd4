"""OpenAPI documents of custom kinds say what a real API server's say; the others are its own."""

import hashlib
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from sandbox_testing.api_recordings import recorded, registry, served_of

from kube_sandbox.discovery.openapi import OpenAPIDocuments
from kube_sandbox.discovery.resources import Document
from kube_sandbox.registry.kinds import Served

RECORDED = recorded("api_documents")
NOW = datetime(2026, 2, 28, 12, 30, 5, tzinfo=UTC)


def selectable(served: Served) -> list[str]:
    for definition in RECORDED["definitions"]:
        for each, fields in served_of(definition):
            if each.kind == served.kind:
                return fields
    return []


@pytest.fixture(scope="module")
def documents() -> OpenAPIDocuments:
    return OpenAPIDocuments(registry(), selectable)


def found(documents: OpenAPIDocuments, path: str, **how: Any) -> Document:
    document = documents.find(path, NOW, **how)
    assert document is not None
    return document


def hash_of(documents: OpenAPIDocuments, path: str) -> str:
    url: str = orjson.loads(documents.index().body)["paths"][path]["serverRelativeURL"]
    return url.partition("?hash=")[2]


@pytest.mark.parametrize("path", RECORDED["openapi"])
def test_the_document_of_custom_kinds_is_the_real_one(
    documents: OpenAPIDocuments, path: str
) -> None:
    document = found(documents, path.removeprefix("/"))
    assert orjson.loads(document.body) == RECORDED["openapi"][path]


def test_the_index_names_the_documents_of_the_real_one(documents: OpenAPIDocuments) -> None:
    index, real = orjson.loads(documents.index().body), RECORDED["index"]
    assert list(index["paths"]) == list(real["paths"])
    own = [path for path in index["paths"] if "example.com" not in path]
    assert [index["paths"][path] for path in own] == [real["paths"][path] for path in own]


@pytest.mark.parametrize("path", RECORDED["index"]["paths"])
def test_a_hash_is_that_of_the_content(documents: OpenAPIDocuments, path: str) -> None:
    document = found(documents, path)
    digest = hashlib.sha512(document.body).hexdigest().upper()
    assert hash_of(documents, path) == digest
    assert document.headers["ETag"] == f'"{digest}"'
    assert document.headers["Cache-Control"] == "no-cache, private"


@pytest.mark.parametrize("path", ["apis/apps/v1", "apis/g.example.com/v1"])
def test_what_a_hash_names_never_grows_old(documents: OpenAPIDocuments, path: str) -> None:
    document = found(documents, path, wanted=hash_of(documents, path))
    assert document.code == 200
    assert document.headers["Cache-Control"] == "public, immutable"
    assert document.headers["Expires"] == "Sun, 28 Feb 2027 12:30:05 UTC"


def test_an_old_hash_leads_to_the_new_one(documents: OpenAPIDocuments) -> None:
    document = found(documents, "apis/apps/v1", wanted="AB")
    place = f"/openapi/v3/apis/apps/v1?hash={hash_of(documents, 'apis/apps/v1')}"
    assert (document.code, document.body, document.headers["Location"]) == (301, b"", place)


def test_whoever_has_a_document_is_told_that_it_is_still_the_same(
    documents: OpenAPIDocuments,
) -> None:
    etag = found(documents, "api/v1").headers["ETag"]
    assert found(documents, "api/v1", etag=etag).code == 304


@pytest.mark.parametrize(
    ("accept", "code"),
    [
        ("application/json, */*", 200),
        ("", 200),
        ("text/plain", 406),
        ("application/com.github.proto-openapi.spec.v3@v1.0+protobuf", 406),
        ("application/com.github.proto-openapi.spec.v3@v1.0+protobuf,application/json", 200),
    ],
)
def test_only_json_is_spoken(documents: OpenAPIDocuments, accept: str, code: int) -> None:
    assert found(documents, "api/v1", accept=accept).code == code


@pytest.mark.parametrize("path", ["apis/nope/v1", "custom", "", "apis/apps/v2"])
def test_what_is_not_served_has_no_document(documents: OpenAPIDocuments, path: str) -> None:
    assert documents.find(path, NOW) is None


def test_a_changed_kind_changes_its_document_alone() -> None:
    served = registry()
    documents = OpenAPIDocuments(served)
    before = orjson.loads(documents.index().body)["paths"]
    served.remove("g.example.com", "anvils")
    after = orjson.loads(documents.index().body)["paths"]
    assert {path for path in before if before[path] != after.get(path)} == {"apis/g.example.com/v1"}
