"""The parameters of writes: as the API server reads and refuses them."""

import pytest

from kube_sandbox.api_errors import StatusError
from kube_sandbox.endpoints.options import (
    APPLY,
    DeleteOptions,
    WriteOptions,
    delete_options,
    manager_or_agent,
    write_options,
)
from kube_sandbox.endpoints.request_info import Query


def test_parameters_of_a_write() -> None:
    query = Query.parse("fieldManager=me&dryRun=All&fieldValidation=Strict&force=true")
    expected = WriteOptions("me", force=True, dry_run=True, validation="Strict")
    assert write_options(query, "PatchOptions", APPLY) == expected
    assert write_options(Query(), "CreateOptions") == WriteOptions(validation="Warn")


@pytest.mark.parametrize(
    ("query", "patch_type", "message"),
    [
        (
            "",
            APPLY,
            'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: '
            "is required for apply patch",
        ),
        (
            "force=true",
            "application/merge-patch+json",
            'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: '
            "may not be specified for non-apply patch",
        ),
        (
            "dryRun=Some",
            "application/merge-patch+json",
            'PatchOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: '
            'supported values: "All"',
        ),
        (
            "fieldValidation=Loose",
            "application/merge-patch+json",
            'PatchOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Loose": '
            'supported values: "", "Ignore", "Strict", "Warn"',
        ),
        (
            f"fieldManager={'m' * 129}",
            APPLY,
            'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Too long: '
            "may not be more than 128 bytes",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(query: str, patch_type: str, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        write_options(Query.parse(query), "PatchOptions", patch_type)
    assert (caught.value.code, caught.value.message) == (422, message)


def test_how_to_delete_is_in_the_body_or_else_in_the_query() -> None:
    body = b'{"propagationPolicy":"Orphan","preconditions":{"uid":"u","resourceVersion":"7"}}'
    expected = DeleteOptions(None, "u", "7", None, "Orphan")
    assert delete_options(Query.parse("propagationPolicy=Foreground"), body) == expected
    query = Query.parse("gracePeriodSeconds=0&orphanDependents=false&dryRun=All")
    assert delete_options(query, b"") == DeleteOptions(0, None, None, False, "", True)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            b'{"propagationPolicy":"Never"}',
            'propagationPolicy: Unsupported value: "Never": supported values: "Foreground", '
            '"Background", "Orphan", "nil"',
        ),
        (
            b'{"propagationPolicy":"Orphan","orphanDependents":true}',
            'propagationPolicy: Invalid value: "Orphan": orphanDependents and '
            "deletionPropagation cannot be both set",
        ),
    ],
)
def test_a_deletion_that_makes_no_sense_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(StatusError) as caught:
        delete_options(Query(), body)
    assert caught.value.message == f'DeleteOptions.meta.k8s.io "" is invalid: {message}'


def test_who_does_not_say_their_name_is_known_by_their_program() -> None:
    assert manager_or_agent("me", "kubectl/v1.35.4 (linux/amd64)") == "me"
    assert manager_or_agent("", "kubectl/v1.35.4 (linux/amd64)") == "kubectl"
    assert manager_or_agent("", "") == ""
