"""
Signatures: what nobody trusted has signed never reaches the cluster, and undoes nothing there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kube_objects.refs import KubeObject
from tests.e2e.following.watching import holding, map_ref, spoil
from tests.e2e.following.world import SourceWorld, config_map
from tests.e2e.scenarios.world import condition
from tests.git_keys import PgpKey, SshKey, pgp_keyring, ssh_key

ALL = {"settings.yaml": config_map("settings", color="blue"), "extra.yaml": config_map("extra")}
CHANGED = {"settings.yaml": config_map("settings", color="red"), "extra.yaml": None}


@dataclass(frozen=True, slots=True)
class Signers:
    """Two keys of one kind, and how the Secret calls the first."""

    alice: PgpKey | SshKey
    stranger: PgpKey | SshKey
    suffix: str
    kind: str
    called: str  # Alice, as her key calls her

    @property
    def secret(self) -> dict[str, str | bytes]:
        """Return the Secret in which Alice is trusted."""
        return {f"alice.{self.suffix}": self.alice.public}


@pytest.fixture(params=["pgp", "ssh"])
def signers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Signers]:
    """Give keys of each kind."""
    if request.param == "ssh":
        names = ("sshpub", "ssh", "alice")
        yield Signers(ssh_key(tmp_path, "alice"), ssh_key(tmp_path, "stranger"), *names)
        return
    with pgp_keyring() as ring:
        names = ("asc", "pgp", "Alice <alice@example.com>")
        yield Signers(ring.make("Alice"), ring.make("Mallory"), *names)


def verify(mode: str) -> dict[str, object]:
    """Ask for signatures of those in the Secret `signers`."""
    return {"mode": mode, "secretRef": {"name": "signers"}}


async def refused(world: SourceWorld, text: str) -> KubeObject:
    """Return the source when it says that a revision is not signed as it should be."""
    source = await world.reported("SourceVerified", "False", text=text)
    ready = condition(source, "Ready")
    assert (ready["status"], text in ready["message"]) == ("False", True), ready
    return source


async def untouched(world: SourceWorld, revision: str) -> None:
    """See that the last good revision is at work: its objects are there, and drift is undone."""
    source = await world.get(world.source_ref())
    assert source["status"]["lastAppliedRevision"] == revision
    assert await world.find(map_ref(world, "extra")) is not None
    await spoil(world, "settings", color="drifted")
    await holding(world, "settings", color="blue")
    assert await world.find(map_ref(world, "extra")) is not None


async def test_a_commit_must_be_signed(world: SourceWorld, signers: Signers) -> None:
    good = world.commit(ALL, sign=signers.alice)
    await world.secret("signers", **signers.secret)
    await world.follow(verify=verify("HEAD"))
    source = await world.ready(good)
    said = condition(source, "SourceVerified")
    assert said["status"] == "True"
    assert said["message"] == f"{signers.called} ({signers.kind} {signers.alice.fingerprint})"
    assert source["status"]["commit"]["signature"] == said["message"]
    unsigned = world.commit(CHANGED)
    await refused(world, f"commit {unsigned[:12]} is not signed")
    await untouched(world, f"main@sha1:{good}")
    signed = world.commit({"new.yaml": config_map("new", a="1")}, sign=signers.alice)
    source = await world.ready(signed)
    assert condition(source, "SourceVerified")["status"] == "True"
    await holding(world, "settings", color="red")
    await world.gone(map_ref(world, "extra"))


async def test_the_key_must_be_trusted(world: SourceWorld, signers: Signers) -> None:
    commit = world.commit(ALL, sign=signers.stranger)
    await world.secret("signers", **signers.secret)
    await world.follow(verify=verify("HEAD"))
    source = await refused(world, "which is not trusted")
    assert "lastAppliedRevision" not in source["status"]
    assert await world.find(map_ref(world, "settings")) is None
    assert not await world.inventory()
    public = signers.stranger.public
    text = public if isinstance(public, str) else public.decode()
    secret = world.ref("v1", "Secret", "signers")
    await world.merge(secret, {"stringData": {f"stranger.{signers.suffix}": text}})
    await world.ready(commit)
    await holding(world, "settings", color="blue")


async def test_a_tag_must_be_signed(world: SourceWorld, signers: Signers) -> None:
    repository = world.repository
    first = world.commit(ALL)
    repository.tag("v1.0.0", first, sign=signers.alice)
    await world.secret("signers", **signers.secret)
    await world.follow(ref={"semver": "*"}, verify=verify("Tag"))
    source = await world.ready(first)
    assert signers.alice.fingerprint in condition(source, "SourceVerified")["message"]
    repository.tag("v1.1.0", world.commit(CHANGED), annotated=True)
    await refused(world, "tag 'v1.1.0' is not signed")
    await untouched(world, f"v1.0.0@sha1:{first}")
    # The signed tag of the first version, under a higher name.
    replayed = repository.git("rev-parse", "refs/tags/v1.0.0").decode().strip()
    repository.set_ref("refs/tags/v1.2.0", replayed)
    await refused(world, "the tag 'v1.2.0' was signed under the name 'v1.0.0'")
    repository.tag("v1.3.0", sign=signers.alice)
    await world.ready(repository.head())
    await holding(world, "settings", color="red")


async def test_both_tag_and_commit_must_be_signed(world: SourceWorld, signers: Signers) -> None:
    repository = world.repository
    good = world.commit(ALL, sign=signers.alice)
    repository.tag("v1.0.0", good, sign=signers.alice)
    await world.secret("signers", **signers.secret)
    await world.follow(ref={"semver": "*"}, verify=verify("TagAndHEAD"))
    source = await world.ready(good)
    said = condition(source, "SourceVerified")["message"]
    assert said.count(signers.alice.fingerprint) == 2
    unsigned = world.commit(CHANGED)
    repository.tag("v1.1.0", unsigned, sign=signers.alice)
    await refused(world, f"commit {unsigned[:12]} is not signed")
    await untouched(world, f"v1.0.0@sha1:{good}")


async def test_asking_for_signatures_later_checks_what_is_there(world: SourceWorld) -> None:
    unsigned = world.commit(ALL)
    await world.follow()
    await world.ready(unsigned)
    with pgp_keyring() as ring:
        key = ring.make("Alice")
        await world.secret("signers", **{"alice.asc": key.public})
        await world.respec(verify=verify("HEAD"))
        await refused(world, "is not signed")
        await holding(world, "settings", color="blue")
        signed = world.commit(CHANGED, sign=key)
        await world.ready(signed)
