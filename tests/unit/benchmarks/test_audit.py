"""What a controller asked for, read from lines as an API server writes them."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from benchmarks.engine.audit import USER_AGENT, Asked, AuditLog, patches_in, requests_in
from benchmarks.engine.drift import repairs_in
from benchmarks.engine.tamperer import MANAGER as TAMPERER


def _line(verb: str, resource: str = "", *, agent: str = "controller", **more: Any) -> str:
    sub, code = more.get("sub", ""), more.get("code", 200)
    event: dict[str, Any] = {
        "stage": more.get("stage", "ResponseComplete"),
        "verb": verb,
        "userAgent": agent,
        "responseStatus": {"code": code},
    }
    if resource:
        event["objectRef"] = {"resource": resource, **({"subresource": sub} if sub else {})}
    return json.dumps(event)


def test_requests_are_told_apart_by_verb_resource_and_refusal() -> None:
    found = requests_in(
        [
            _line("patch", "configmaps", code=201),
            _line("patch", "configmaps"),
            _line("patch", "apps", sub="status"),
            _line("get", "services", code=404),
            _line("get"),
        ]
    )
    assert found.counts == {
        Asked("configmaps", "patch"): 2,
        Asked("apps/status", "patch"): 1,
        Asked("services", "get", 404): 1,
        Asked("", "get"): 1,
    }
    assert (found.total, found.reads, found.writes) == (5, 2, 3)


def test_the_benchmarks_own_requests_are_not_the_controllers() -> None:
    found = requests_in([_line("create", "apps", agent=USER_AGENT), _line("patch", "apps")])
    assert found.total == 1


def test_events_and_leases_are_not_counted() -> None:
    found = requests_in([_line("create", "events"), _line("update", "leases")])
    assert str(found) == "none"


def test_a_watch_counts_once_and_is_no_read() -> None:
    lines = [
        _line("watch", "apps", stage=stage) for stage in ("ResponseStarted", "ResponseComplete")
    ]
    found = requests_in(lines)
    assert (found.watches, found.total) == (1, 0)


def test_a_long_list_is_counted_when_it_is_answered() -> None:
    lines = [
        _line("list", "apps", stage=stage) for stage in ("ResponseStarted", "ResponseComplete")
    ]
    assert requests_in(lines).reads == 1


def test_requests_of_an_instance_leave_out_those_made_once() -> None:
    once = [_line("list", "apps")]
    each = [_line("patch", "configmaps")] * 150
    assert requests_in(once + each).per(100) == "1.5 × patch configmaps"


def test_a_window_begins_at_its_mark(tmp_path: Path) -> None:
    log = AuditLog(tmp_path)
    assert log.mark() == 0
    written = tmp_path / "audit.log"
    written.write_text(_line("get", "apps") + "\n")
    mark = log.mark()
    with written.open("a") as more:
        more.write(_line("patch", "apps") + "\n")
    assert str(log.since(mark)) == "1 × patch apps"


def test_a_controller_is_quiet_after_a_while_without_requests_of_its_own(tmp_path: Path) -> None:
    log = AuditLog(tmp_path)
    (tmp_path / "audit.log").write_text(_line("get", "apps") + "\n")
    assert log.wait_until_quiet(0.2, limit=10.0)


def test_a_controller_that_goes_on_is_not_waited_for_forever(tmp_path: Path) -> None:
    log = AuditLog(tmp_path)
    ended = threading.Event()

    def go_on() -> None:
        while not ended.wait(0.05):
            with (tmp_path / "audit.log").open("a") as written:
                written.write(_line("get", "apps") + "\n")

    writer = threading.Thread(target=go_on)
    writer.start()
    try:
        assert not log.wait_until_quiet(5.0, limit=1.0)
    finally:
        ended.set()
        writer.join()


def _patch(name: str, manager: str, received: str, answered: str) -> str:
    return json.dumps(
        {
            "verb": "patch",
            "objectRef": {"resource": "configmaps", "name": name},
            "requestURI": f"/api/v1/configmaps/{name}?fieldManager={manager}&force=true",
            "requestReceivedTimestamp": f"2024-01-01T00:00:{received}00000Z",
            "stageTimestamp": f"2024-01-01T00:00:{answered}00000Z",
            "responseStatus": {"code": 200},
        }
    )


def test_a_repair_is_the_next_patch_of_what_was_changed_by_hand() -> None:
    lines = [
        _patch("a", "engine", "01.0", "01.1"),
        _patch("a", TAMPERER, "02.0", "02.1"),
        _patch("b", "engine", "02.2", "02.3"),
        _patch("a", "engine", "02.4", "02.6"),
        _patch("a", "engine", "03.0", "03.1"),
    ]
    [(manager, seconds)] = repairs_in(patches_in(reversed(lines), "configmaps"))
    assert manager == "engine"
    assert seconds == pytest.approx(0.5)
