"""
A Lease: who leads, and until when.

Several replicas may run, one leads. It writes its name into a Lease and renews it; when it stops
renewing, another takes over. Clocks of machines differ, so the times in a Lease are for people:
a lease has run out when it did not change for as long as it lasts, by the clock of the observer.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from kube_objects.refs import KubeObject
from kube_objects.times import format_micro_time, parse_time

API_VERSION = "coordination.k8s.io/v1"
KIND = "Lease"
LEASE_NAME = "controller.kro.run"  # kro's: only one of the two controllers leads

_NO_HOLDER = ""


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """What a Lease says; `seconds` is how long it lasts without being renewed."""

    holder: str = _NO_HOLDER
    seconds: int = 0
    acquired: datetime | None = None
    renewed: datetime | None = None
    transitions: int = 0

    @classmethod
    def parse(cls, lease: KubeObject) -> "LeaseRecord":
        """Read a Lease."""
        spec: Any = lease.get("spec")
        spec = spec if isinstance(spec, dict) else {}
        return cls(
            holder=spec.get("holderIdentity") or _NO_HOLDER,
            seconds=spec.get("leaseDurationSeconds") or 0,
            acquired=parse_time(spec.get("acquireTime")),
            renewed=parse_time(spec.get("renewTime")),
            transitions=spec.get("leaseTransitions") or 0,
        )

    def onto(self, lease: KubeObject) -> KubeObject:
        """Return a Lease that says this."""
        spec: KubeObject = {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.seconds,
            "leaseTransitions": self.transitions,
        }
        if self.acquired is not None:
            spec["acquireTime"] = format_micro_time(self.acquired)
        if self.renewed is not None:
            spec["renewTime"] = format_micro_time(self.renewed)
        return {**lease, "spec": spec}

    def claimed(self, holder: str, seconds: int, now: datetime) -> "LeaseRecord":
        """Return a record in which `holder` acquires or renews the lease."""
        if self.holder == holder:
            return replace(self, seconds=seconds, renewed=now)
        # The first holder takes it from no other.
        is_first = self.holder == _NO_HOLDER and self.acquired is None
        return LeaseRecord(holder, seconds, now, now, self.transitions + (not is_first))

    def released(self, now: datetime) -> "LeaseRecord":
        """Return a record without a holder."""
        return replace(self, holder=_NO_HOLDER, seconds=1, acquired=now, renewed=now)


@dataclass(frozen=True, slots=True)
class ObservedRecord:
    """A record, and since when it has not changed, by the clock of the observer."""

    record: LeaseRecord
    since: float

    def seen(self, record: LeaseRecord, now: float) -> "ObservedRecord":
        """Look again."""
        return self if record == self.record else ObservedRecord(record, now)

    def is_free(self, holder: str, now: float) -> bool:
        """Return True if `holder` has the lease or may take it."""
        owner = self.record.holder
        return owner in (_NO_HOLDER, holder) or self.since + self.record.seconds <= now


def new_lease(namespace: str, name: str) -> KubeObject:
    """Return a Lease without a holder, which is not created yet."""
    about = {"namespace": namespace, "name": name}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": about}
