"""A server that starts: what it makes, what it keeps, and what it does not load."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from kube_objects.errors import InvalidError
from kube_sandbox.server import SandboxServer, ServerOptions
from kube_sandbox.storage import snapshots
from kube_sandbox.storage.journal import Journal
from kube_sandbox.storage.records import Record
from kube_sandbox.storage.store import Store

ROLES = "clusterroles.rbac.authorization.k8s.io"
# What takes time to load, and what a start must do without: YAML is for the few who send it, keys
# are there from the first start, and rules are written by whoever has custom kinds.
HEAVY = ("yaml", "cryptography", "aiohttp", "kubernetes", "kube_cel", "kro_gitops.engine")
START = """
import asyncio, sys
from pathlib import Path
from kube_sandbox.server import SandboxServer, ServerOptions

async def start() -> None:
    cluster = SandboxServer(ServerOptions(Path(sys.argv[1])))
    await cluster.open()
    await asyncio.sleep(0)
    print(*sys.modules)
    await cluster.close()

asyncio.run(start())
"""


async def started(folder: Path) -> SandboxServer:
    cluster = SandboxServer(ServerOptions(folder, collects=False))
    await cluster.open()
    return cluster


def furniture(store: Store) -> list[Record]:
    """Return all objects but the server's own Service, which says where it listens now."""
    buckets = [bucket for bucket in store.buckets() if bucket != "services"]
    return [record for bucket in buckets for record in store.list(bucket)]


def loaded_by_a_start(folder: Path) -> set[str]:
    command = [sys.executable, "-c", START, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    return set(done.stdout.split())


def test_a_start_loads_nothing_that_only_some_need(tmp_path: Path) -> None:
    loaded_by_a_start(tmp_path)  # makes the keys
    loaded = loaded_by_a_start(tmp_path)
    assert "kube_sandbox.server" in loaded
    assert not loaded & set(HEAVY)


async def test_a_first_start_makes_what_every_cluster_has(tmp_path: Path) -> None:
    cluster = await started(tmp_path)
    found = furniture(cluster.store)
    await cluster.close()
    assert {each.name for each in cluster.store.list("namespaces")} >= {"default", "kube-system"}
    assert len({each.uid for each in found}) == len(found)
    for each in found:
        assert f'"resourceVersion":"{each.version}"'.encode() in each.value
        assert f'"uid":"{each.uid}"'.encode() in each.value
    (service,) = cluster.store.list("services")
    assert f'"targetPort":{cluster.url.rpartition(":")[2]}'.encode() in service.value


async def test_the_next_start_makes_only_what_is_missing(tmp_path: Path) -> None:
    cluster = await started(tmp_path)
    before = furniture(cluster.store)
    await cluster.close()
    cluster = await started(tmp_path)
    assert furniture(cluster.store) == before
    role = cluster.store.list(ROLES)[0]
    last = Record(role.namespace, role.name, role.uid, cluster.store.version + 1, role.value, {})
    cluster.store.delete(ROLES, last)
    await cluster.close()
    cluster = await started(tmp_path)
    again = cluster.store.get(ROLES, role.namespace, role.name)
    await cluster.close()
    assert again is not None
    assert again.uid != role.uid


async def test_the_servers_own_service_leads_to_where_it_listens_now(tmp_path: Path) -> None:
    uids = set()
    for _ in range(2):
        cluster = await started(tmp_path)
        (service,) = cluster.store.list("services")
        port = int(cluster.url.rpartition(":")[2])
        assert f'"targetPort":{port}'.encode() in service.value
        uids.add(service.uid)
        await cluster.close()
    assert len(uids) == 1


async def test_who_finds_a_folder_in_use_makes_no_keys_there(tmp_path: Path) -> None:
    journal, _ = Journal.open(tmp_path / "store.db")
    with pytest.raises(InvalidError, match="is in use by process"):
        await started(tmp_path)
    journal.close()
    assert not (tmp_path / "keys").exists()
    assert not (tmp_path / "token").exists()


async def test_a_token_that_was_not_written_to_its_end_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "token").touch()
    cluster = await started(tmp_path)
    await cluster.close()
    token = (tmp_path / "token").read_text()
    assert token
    assert token in cluster.kubeconfig


async def test_a_server_begins_with_a_snapshot(tmp_path: Path) -> None:
    cluster = await started(tmp_path / "first")
    snapshots.write(cluster.store, tmp_path / "snapshot.db")
    before = furniture(cluster.store)
    await cluster.close()
    for name, ephemeral in (("second", False), ("third", True)):
        folder = tmp_path / name
        options = ServerOptions(
            folder, ephemeral=ephemeral, collects=False, snapshot=tmp_path / "snapshot.db"
        )
        cluster = SandboxServer(options)
        await cluster.open()
        assert furniture(cluster.store) == before
        await cluster.close()
        assert (folder / "store.db").exists() is not ephemeral


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a file belong to another user than the one who starts the server."""
    user = os.geteuid()
    if user == 0:
        os.chown(path, 65534, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: user + 1)


@pytest.mark.parametrize("name", [".", "token", "keys", "keys/service-account.key", "store.db"])
async def test_what_another_user_put_into_the_folder_is_not_used(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await (await started(tmp_path)).close()
    give_away(tmp_path / name, monkeypatch)
    with pytest.raises(InvalidError, match="belongs to the user with id") as raised:
        await started(tmp_path)
    assert raised.value.code == "folder-unusable"


@pytest.mark.parametrize(
    ("name", "mode", "why"),
    [
        (".", 0o777, "any user may write to it"),
        (".", 0o1777, "any user may write to it"),
        ("token", 0o644, "other users may read or write it"),
        ("token", 0o602, "other users may read or write it"),
        ("keys/ca.key", 0o640, "other users may read or write it"),
        ("keys", 0o707, "any user may write to it"),
        ("store.db", 0o620, "other users may write it"),
    ],
)
async def test_what_other_users_may_change_or_have_read_is_not_used(
    tmp_path: Path, name: str, mode: int, why: str
) -> None:
    await (await started(tmp_path)).close()
    (tmp_path / name).chmod(mode)
    with pytest.raises(InvalidError, match=why) as raised:
        await started(tmp_path)
    assert raised.value.code == "folder-unusable"
    assert f"'{tmp_path / name}'" in raised.value.message


async def test_a_token_behind_a_link_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("known")
    (tmp_path / "token").symlink_to("elsewhere")
    with pytest.raises(InvalidError, match="it is no regular file; remove it"):
        await started(tmp_path)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_a_folder_of_the_users_group_is_made_private(tmp_path: Path) -> None:
    (folder := tmp_path / "cluster").mkdir()
    (tmp_path / "cluster").chmod(0o775)
    await (await started(folder)).close()
    assert mode_of(folder) == 0o755


async def test_a_store_that_lost_its_content_is_no_empty_cluster(tmp_path: Path) -> None:
    await (await started(tmp_path)).close()
    (tmp_path / "store.db").write_bytes(b"")
    with pytest.raises(InvalidError, match="it is empty, but the keys of its cluster") as raised:
        await started(tmp_path)
    assert raised.value.code == "store-unusable"
    assert "remove it to begin with an empty cluster" in raised.value.message
    assert (tmp_path / "store.db").stat().st_size == 0
    (tmp_path / "store.db").unlink()
    await (await started(tmp_path)).close()


async def test_a_first_start_that_was_cut_off_begins_again(tmp_path: Path) -> None:
    (tmp_path / "store.db").touch()
    await (await started(tmp_path)).close()


async def test_a_store_begins_where_an_ephemeral_cluster_was(tmp_path: Path) -> None:
    async with SandboxServer(ServerOptions(tmp_path, ephemeral=True, collects=False)):
        pass
    await (await started(tmp_path)).close()
