import pytest
from sandbox_testing.stored import stored

from kube_sandbox.api_errors import StatusError
from kube_sandbox.endpoints.list_options import validate_options
from kube_sandbox.storage.resource_version import (
    VersionOptions,
    parse_list_version,
    parse_version,
    require_version,
)

FORBIDDEN = "resourceVersionMatch: Forbidden: "
UNLESS_VERSION = f"{FORBIDDEN}resourceVersionMatch is forbidden unless resourceVersion is provided"
WITH_TOKEN = f"{FORBIDDEN}resourceVersionMatch is forbidden when continue is provided"
UNLESS_INITIAL = (
    f"{FORBIDDEN}resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
)
NEEDS_MATCH = f"{FORBIDDEN}sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
EXACT_UNSUPPORTED = (
    'resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"'
)


@pytest.mark.parametrize(
    ("asked", "errors"),
    [
        pytest.param(VersionOptions(match="Exact"), [UNLESS_VERSION], id="a match of nothing"),
        pytest.param(
            VersionOptions(match="foo"),
            [
                UNLESS_VERSION,
                'resourceVersionMatch: Unsupported value: "foo": '
                'supported values: "Exact", "NotOlderThan", ""',
            ],
            id="an unknown match",
        ),
        pytest.param(
            VersionOptions("0", "Exact"),
            [f'{FORBIDDEN}resourceVersionMatch "exact" is forbidden for resourceVersion "0"'],
            id="exactly any",
        ),
        pytest.param(
            VersionOptions("7", "Exact", token="x"), [WITH_TOKEN], id="a match and a token"
        ),
        pytest.param(
            VersionOptions(send_initial_events=True),
            ["sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"],
            id="a list of events",
        ),
        pytest.param(
            VersionOptions(send_initial_events=True, watch=True), [NEEDS_MATCH], id="no match"
        ),
        pytest.param(
            VersionOptions("5", "Exact", send_initial_events=True, watch=True),
            [NEEDS_MATCH, EXACT_UNSUPPORTED],
            id="an exact watch",
        ),
        pytest.param(
            VersionOptions("5", "NotOlderThan", watch=True),
            [UNLESS_INITIAL],
            id="a match without events",
        ),
        pytest.param(
            VersionOptions("5", "Exact", watch=True),
            [UNLESS_INITIAL, EXACT_UNSUPPORTED],
            id="both wrong",
        ),
        pytest.param(
            VersionOptions(token="x", watch=True), [WITH_TOKEN], id="a watch goes on nowhere"
        ),
    ],
)
def test_combinations_that_make_no_sense(asked: VersionOptions, errors: list[str]) -> None:
    with pytest.raises(StatusError) as refused:
        validate_options(asked)
    told = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
    assert refused.value.message == f'ListOptions.meta.k8s.io "" is invalid: {told}'
    assert (refused.value.code, refused.value.reason) == (422, "Invalid")
    assert refused.value.details["group"] == "meta.k8s.io"


@pytest.mark.parametrize("version", ["", "0"])
def test_a_watch_from_nowhere_begins_with_what_is_there(version: str) -> None:
    found = validate_options(VersionOptions(version, watch=True))
    assert (found.send_initial_events, found.match) == (True, "NotOlderThan")
    assert validate_options(VersionOptions("7", watch=True)).send_initial_events is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x", "invalid syntax"),
        ("-1", "invalid syntax"),
        (" 1", "invalid syntax"),
        ("1_0", "invalid syntax"),
        ("99999999999999999999999", "value out of range"),
    ],
)
def test_a_wrong_version(text: str, why: str) -> None:
    told = f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": {why}'
    with pytest.raises(StatusError) as of_list:
        parse_list_version(text)
    assert (of_list.value.code, of_list.value.reason) == (400, "BadRequest")
    assert of_list.value.message == f"invalid resource version: {told}"
    with pytest.raises(StatusError) as of_watch:
        parse_version(text)
    assert "reason" not in of_watch.value.status()
    assert (of_watch.value.code, of_watch.value.message) == (500, told)


def test_versions_are_plain_numbers() -> None:
    assert [parse_version(text) for text in ("", "0", "007")] == [0, 0, 7]


def test_a_version_that_is_yet_to_come() -> None:
    store = stored("a")
    require_version(store, 2)
    with pytest.raises(StatusError) as refused:
        require_version(store, 99999999)
    assert refused.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Timeout: Too large resource version: 99999999, current: 2",
        "reason": "Timeout",
        "details": {
            "causes": [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            ],
            "retryAfterSeconds": 1,
        },
        "code": 504,
    }
    assert refused.value.headers == {"Retry-After": "1"}
