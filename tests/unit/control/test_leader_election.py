"""Elections in virtual time, over a Lease in memory."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kro_gitops.control.leader_election import (
    ClockAndJitter,
    ElectionConfig,
    ElectionResult,
    LeaderElector,
)
from kro_gitops.control.lease import LeaseRecord, ObservedRecord, new_lease
from tests.virtual_time import run

BORN = datetime(2026, 3, 1, 9, tzinfo=UTC)


class Server:
    """A Lease, with the server's precondition; it may be down, or hang."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.is_down = False
        self.hangs = False
        self.updates = 0

    async def get(self) -> dict[str, Any] | None:
        await self._answer()
        return self.lease

    async def update(self, lease: dict[str, Any]) -> dict[str, Any]:
        await self._answer()
        present = self.lease["metadata"]["resourceVersion"] if self.lease else None
        if lease["metadata"].get("resourceVersion") != present:
            raise RuntimeError("conflict")
        self.updates += 1
        version = str(self.updates)
        self.lease = {**lease, "metadata": {**lease["metadata"], "resourceVersion": version}}
        return self.lease

    async def _answer(self) -> None:
        if self.hangs:
            await asyncio.sleep(10**6)
        if self.is_down:
            raise ConnectionError("down")

    @property
    def holder(self) -> str:
        return LeaseRecord.parse(self.lease).holder if self.lease else ""


class Replica:
    def __init__(self, server: Server, name: str, retry_period: float = 2.0) -> None:
        self.elected_at: float | None = None
        self.ended_at: float | None = None
        self.ending: ElectionResult | None = None
        self.elector = LeaderElector(
            server,
            ElectionConfig(name, "kro-system", retry_period=retry_period),
            self._elected,
            ClockAndJitter(clock=self._clock, jitter=lambda: 0.0),
        )

    async def run(self) -> None:
        self.ending = await self.elector.run()
        self.ended_at = asyncio.get_running_loop().time()

    def _elected(self) -> None:
        self.elected_at = asyncio.get_running_loop().time()

    def _clock(self) -> datetime:
        return BORN + timedelta(seconds=asyncio.get_running_loop().time())


class TestOneReplica:
    def test_is_elected_at_once_and_renews(self) -> None:
        server = Server()
        one = Replica(server, "one")

        async def story() -> None:
            task = asyncio.create_task(one.run())
            await asyncio.sleep(60)
            assert server.lease is not None
            assert server.lease["spec"] == {
                "holderIdentity": "one",
                "leaseDurationSeconds": 15,
                "leaseTransitions": 0,
                "acquireTime": "2026-03-01T09:00:00.000000Z",
                "renewTime": "2026-03-01T09:00:58.000000Z",
            }
            assert one.elector.leads_until == 68
            one.elector.stop()
            await task

        run(story())
        assert one.elected_at == 0
        assert one.ending is ElectionResult.STOPPED
        assert one.ended_at == 60

    def test_gives_the_lease_back_when_it_stops(self) -> None:
        server = Server()
        one = Replica(server, "one")

        async def story() -> None:
            task = asyncio.create_task(one.run())
            await asyncio.sleep(5)
            one.elector.stop()
            await task

        run(story())
        assert server.holder == ""
        assert one.elector.leads_until == 0

    def test_survives_a_short_outage(self) -> None:
        server = Server()
        one = Replica(server, "one")

        async def story() -> None:
            task = asyncio.create_task(one.run())
            await asyncio.sleep(5)
            server.is_down = True
            await asyncio.sleep(7)
            server.is_down = False
            await asyncio.sleep(20)
            one.elector.stop()
            await task

        run(story())
        assert one.ending is ElectionResult.STOPPED

    @pytest.mark.parametrize("trouble", ["is_down", "hangs"])
    def test_steps_down_before_others_may_take_over(self, trouble: str) -> None:
        server = Server()
        one = Replica(server, "one", retry_period=3.0)

        async def story() -> None:
            task = asyncio.create_task(one.run())
            await asyncio.sleep(4)
            setattr(server, trouble, True)
            await task

        run(story())
        assert one.ending is ElectionResult.LOST
        # It renewed at 3 for the last time; the lease itself lasts until 18.
        assert one.ended_at == 13

    def test_that_cannot_reach_the_server_goes_on_trying(self) -> None:
        server = Server()
        server.is_down = True
        one = Replica(server, "one")

        async def story() -> None:
            task = asyncio.create_task(one.run())
            await asyncio.sleep(99)
            server.is_down = False
            await asyncio.sleep(3)
            one.elector.stop()
            await task

        run(story())
        assert one.elected_at == 100

    def test_stopped_before_it_runs_does_not_campaign(self) -> None:
        server = Server()
        one = Replica(server, "one")
        one.elector.stop()
        run(one.run())
        assert one.ending is ElectionResult.STOPPED
        assert server.lease is None

    def test_that_loses_the_lease_to_another_is_told_at_once(self) -> None:
        server = Server()
        one = Replica(server, "one")

        async def story() -> None:
            task = asyncio.create_task(one.run())
            await asyncio.sleep(5)
            assert server.lease is not None
            taken = LeaseRecord.parse(server.lease).claimed("two", 15, BORN)
            await server.update(taken.onto(server.lease))
            await task

        run(story())
        assert one.ending is ElectionResult.LOST
        assert server.holder == "two"


class TestTwoReplicas:
    def test_never_lead_at_once_and_the_second_follows_a_clean_stop_quickly(self) -> None:
        server = Server()
        one, two = Replica(server, "one"), Replica(server, "two")

        async def story() -> None:
            first = asyncio.create_task(one.run())
            await asyncio.sleep(1)
            second = asyncio.create_task(two.run())
            await asyncio.sleep(100)
            assert two.elected_at is None
            one.elector.stop()
            await first
            await asyncio.sleep(5)
            two.elector.stop()
            await second

        run(story())
        assert two.elected_at is not None
        assert one.ended_at is not None
        assert one.ended_at <= two.elected_at <= one.ended_at + 2
        assert server.lease is not None
        assert LeaseRecord.parse(server.lease).transitions == 1

    def test_the_second_takes_over_when_the_first_dies(self) -> None:
        server = Server()
        one, two = Replica(server, "one"), Replica(server, "two")

        async def story() -> None:
            first = asyncio.create_task(one.run())
            await asyncio.sleep(0.5)
            second = asyncio.create_task(two.run())
            await asyncio.sleep(20)
            first.cancel()  # without a word, as a process that is killed
            await asyncio.sleep(20)
            two.elector.stop()
            await second

        run(story())
        # The last renewal was at 20; whoever looks every two seconds notices a little later.
        assert two.elected_at is not None
        assert 35 <= two.elected_at <= 38

    def test_both_starting_at_once_one_is_elected(self) -> None:
        server = Server()
        replicas = [Replica(server, name) for name in ("one", "two", "three")]

        async def story() -> None:
            tasks = [asyncio.create_task(each.run()) for each in replicas]
            await asyncio.sleep(30)
            for each in replicas:
                each.elector.stop()
            await asyncio.gather(*tasks)

        run(story())
        assert [each.elected_at is not None for each in replicas].count(True) == 1


def test_an_elector_may_live_in_a_thread_of_its_own() -> None:
    server = Server()
    elected = threading.Event()
    elector = LeaderElector(server, ElectionConfig("one", "kro-system"), elected.set)
    endings: list[ElectionResult] = []
    thread = threading.Thread(target=lambda: endings.append(asyncio.run(elector.run())))
    thread.start()
    assert elected.wait(timeout=10)
    elector.stop()
    thread.join(timeout=10)
    assert endings == [ElectionResult.STOPPED]
    assert server.holder == ""
    elector.stop()  # once more, when it is long over


class TestTheLease:
    def test_is_read_as_it_is_written(self) -> None:
        record = LeaseRecord("one", 15, BORN, BORN + timedelta(seconds=3), 7)
        assert LeaseRecord.parse(record.onto(new_lease("ns", "name"))) == record

    @pytest.mark.parametrize("spec", [None, {}, {"holderIdentity": None}])
    def test_without_a_holder_is_free(self, spec: Any) -> None:
        record = LeaseRecord.parse({"spec": spec})
        assert ObservedRecord(record, 0).is_free("one", 0)

    def test_of_another_is_free_when_it_was_not_renewed_for_as_long_as_it_lasts(self) -> None:
        sighting = ObservedRecord(LeaseRecord("two", 15), since=10)
        assert not sighting.is_free("one", 24.9)
        assert sighting.is_free("one", 25)

    def test_that_was_renewed_is_seen_anew_whatever_its_times_say(self) -> None:
        sighting = ObservedRecord(LeaseRecord("two", 15, renewed=BORN), since=10)
        assert sighting.seen(LeaseRecord("two", 15, renewed=BORN), 20).since == 10
        long_ago = BORN - timedelta(days=400)  # a clock that is wrong
        assert sighting.seen(LeaseRecord("two", 15, renewed=long_ago), 20).since == 20

    def test_counts_how_often_it_changed_hands(self) -> None:
        record = LeaseRecord().claimed("one", 15, BORN)
        assert record.transitions == 0
        assert record.claimed("one", 15, BORN).transitions == 0
        assert record.claimed("two", 15, BORN).transitions == 1
        assert record.released(BORN).claimed("two", 15, BORN).transitions == 1
