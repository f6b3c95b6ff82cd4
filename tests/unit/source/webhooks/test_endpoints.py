import hashlib
import threading

import pytest

from kro_gitops.source.api.types import Forge, WantedRef
from kro_gitops.source.webhooks.endpoints import Receiver, Receivers, receiver_path
from kro_gitops.source.webhooks.ratelimit import Admission, Deliveries, Outcome, Pace, SourcePace
from kro_gitops.source.webhooks.receive import WebhookCall
from kube_objects.refs import Kind, ObjectRef

URL = "https://github.com/acme/platform"
TOKEN = b"correct horse battery staple"
DAY = 24 * 3600.0


def key(name: str = "platform") -> ObjectRef:
    return ObjectRef(Kind("gitops.kro.run", "v1alpha1", "GitSource"), "team", name)


def receiver(name: str = "platform", token: bytes = TOKEN) -> Receiver:
    path = receiver_path(token, name, "team")
    return Receiver(key(name), path, token, None, URL, WantedRef(branch="main"))


def push(delivery: str = "", ref: str = "refs/heads/main") -> WebhookCall:
    return WebhookCall(Forge.GITHUB, "push", True, (ref,), (URL,), delivery)


@pytest.fixture
def receivers() -> Receivers:
    made = Receivers(Pace(gap=10.0, burst=3, per_second=0.1))
    made.set(key(), receiver())
    return made


def test_a_path_is_a_digest_of_token_and_name() -> None:
    path = receiver_path(b"token", "platform", "team")
    assert path == "/hook/" + hashlib.sha256(b"token\0platform\0team").hexdigest()


def test_paths_of_other_tokens_and_names_are_others() -> None:
    paths = {
        receiver_path(token, name, namespace)
        for token in (b"a", b"ab")
        for name in ("b", "bc", "bcd")
        for namespace in ("d", "cd")
    }
    assert len(paths) == 12


def test_a_receiver_is_found_by_its_path_and_by_no_other(receivers: Receivers) -> None:
    path = receiver().path
    assert receivers.find(path) == receiver()
    for other in ("", "/", "/hook/", path[:-1], path + "0", path.upper(), path + "/", "\udcff"):
        assert receivers.find(other) is None


def test_a_new_token_is_a_new_path_and_the_old_one_is_gone(receivers: Receivers) -> None:
    receivers.set(key(), receiver(token=b"another"))
    assert receivers.find(receiver().path) is None
    assert receivers.find(receiver(token=b"another").path) == receiver(token=b"another")


def test_a_source_that_goes_is_found_no_more(receivers: Receivers) -> None:
    receivers.set(key("other"), receiver("other"))
    receivers.set(key(), None)
    receivers.set(key("never-there"), None)
    assert receivers.find(receiver().path) is None
    assert receivers.find(receiver("other").path) == receiver("other")


def test_a_receiver_does_not_show_its_token() -> None:
    shown = repr(receiver())
    assert "horse" not in shown
    assert "/hook/" not in shown


def test_pushes_in_a_row_are_one_look_now_and_one_after_the_last(receivers: Receivers) -> None:
    assert receivers.admit(receiver(), push(), 100.0) == Admission(Outcome.POKED)
    assert receivers.admit(receiver(), push(), 101.0) == Admission(Outcome.POKED, 9.0)
    assert receivers.admit(receiver(), push(), 104.0) == Admission(Outcome.COALESCED, 6.0)


def test_after_a_rest_a_push_is_looked_at_at_once(receivers: Receivers) -> None:
    for now in (100.0, 130.0, 160.0):
        assert receivers.admit(receiver(), push(), now) == Admission(Outcome.POKED)


def test_a_look_that_is_over_does_not_stand_for_a_later_push() -> None:
    pace = SourcePace(Pace(gap=10.0))
    assert [pace.admit(now).wait for now in (0.0, 1.0, 10.0, 11.0)] == [0.0, 9.0, 10.0, 9.0]


def test_who_calls_without_end_is_told_when_to_come_back(receivers: Receivers) -> None:
    for _ in range(3):
        assert receivers.admit(receiver(), push(), 100.0).outcome is not Outcome.LIMITED
    assert receivers.admit(receiver(), push(), 100.0) == Admission(Outcome.LIMITED, 10.0)
    assert receivers.admit(receiver(), push(), 105.0) == Admission(Outcome.LIMITED, 5.0)
    assert receivers.admit(receiver(), push(), 110.0).outcome is not Outcome.LIMITED


def test_one_source_does_not_use_up_anothers_patience(receivers: Receivers) -> None:
    for _ in range(5):
        receivers.admit(receiver(), push(), 100.0)
    assert receivers.admit(receiver("other"), push(), 100.0) == Admission(Outcome.POKED)


def test_a_delivery_is_heard_once_a_day(receivers: Receivers) -> None:
    assert receivers.admit(receiver(), push("d1"), 0.0).outcome is Outcome.POKED
    assert receivers.admit(receiver(), push("d1"), DAY - 1) == Admission(Outcome.REPEATED)
    assert receivers.admit(receiver(), push("d2"), DAY - 1).outcome is Outcome.POKED
    assert receivers.admit(receiver(), push("d1"), DAY + 20).outcome is Outcome.POKED


def test_the_same_name_of_another_source_or_forge_is_another_delivery(
    receivers: Receivers,
) -> None:
    receivers.admit(receiver(), push("d1"), 0.0)
    assert receivers.admit(receiver("other"), push("d1"), 0.0).outcome is Outcome.POKED
    generic = WebhookCall(Forge.GENERIC, "", True, delivery="d1")
    assert receivers.admit(receiver(), generic, 100.0).outcome is Outcome.POKED


def test_calls_without_a_name_are_never_taken_for_repeated(receivers: Receivers) -> None:
    assert receivers.admit(receiver(), push(""), 0.0).outcome is Outcome.POKED
    assert receivers.admit(receiver(), push(""), 100.0).outcome is Outcome.POKED


def test_what_woke_nobody_may_be_sent_again(receivers: Receivers) -> None:
    elsewhere = push("d1", "refs/heads/other")
    assert receivers.admit(receiver(), elsewhere, 0.0) == Admission(Outcome.IGNORED)
    for _ in range(3):
        receivers.admit(receiver(), push(), 0.0)
    assert receivers.admit(receiver(), push("d1"), 0.0).outcome is Outcome.LIMITED
    assert receivers.admit(receiver(), push("d1"), 100.0).outcome is Outcome.POKED


def test_of_very_many_deliveries_the_oldest_are_forgotten() -> None:
    deliveries = Deliveries(most=3)
    for number in range(5):
        deliveries.add((str(number),), float(number))
    assert [deliveries.has((str(number),), 5.0) for number in range(5)] == [False] * 2 + [True] * 3


def test_threads_may_write_while_others_read(receivers: Receivers) -> None:
    found: list[bool] = []

    def write() -> None:
        for _ in range(500):
            receivers.set(key("other"), receiver("other"))
            receivers.set(key("other"), None)

    def read() -> None:
        found.extend(receivers.find(receiver().path) is not None for _ in range(500))

    threads = [threading.Thread(target=each) for each in (write, write, read, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 1000
    assert receivers.find(receiver("other").path) is None
