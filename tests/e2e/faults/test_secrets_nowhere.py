"""
Secrets are planted wherever a source may have some, and then looked for wherever they could show.

What a process is given in its environment can be read by the same user and by root only; the kernel
sees to that, and it is checked here. Keys must be files for a moment, which only we can read.
"""

import asyncio
import json
import os
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from kro_gitops.kube.api import Selection
from kro_gitops.kube.responses import ApiError
from kro_gitops.source.api.resources import GIT_SOURCE_KIND, SOURCE_INVENTORY_KIND
from kube_objects.refs import Kind
from tests.connection import connect
from tests.e2e.faults.planted_secrets import Planted, Spy, left_in, outside_spec, spying
from tests.e2e.following.world import Git, SourceWorld, config_map
from tests.e2e.scenarios.controllers import OURS, start_controller
from tests.git_keys import SshKey, ssh_key
from tests.git_servers import (
    Certificates,
    ConnectProxy,
    HttpServer,
    SshServer,
    certificates,
    connect_proxy,
    http_server,
    ssh_server,
)
from tools.cluster.control_plane import free_ports
from tools.cluster.plane import Plane

USER = "bob"
PLANTED = {
    "password": "pl4nted/password+1",
    "bearer": "pl4nted-bearer-token-2",
    "passphrase": "pl4nted passphrase 3",
    "webhook": "pl4nted-webhook-token-4",
    "wrong webhook": "pl4nted-wrong-token-5",
    "userinfo": "pl4nted-userinfo-6",
    "echoed": "pl4nted/echoed+password-7",
    "proxy": "pl4nted/proxy+password-8",
    "wrong proxy": "pl4nted-wrong-proxy-9",
    "manifest": "pl4nted-manifest-value-10",
    "refused manifest": "pl4nted-refused-value-11",
    "broken manifest": "pl4nted-broken-value-12",
}
EVENTS = (Kind("events.k8s.io", "v1", "Event"), Kind("", "v1", "Event"))


@dataclass(slots=True)
class Place:
    """A world with servers of all sorts, and where its controller leaves things."""

    world: SourceWorld
    http: HttpServer
    echo: HttpServer
    tls: HttpServer
    github: HttpServer
    ssh: SshServer
    proxy: ConnectProxy
    key: SshKey
    app_key: str
    certificates: Certificates
    webhooks: str
    folder: Path

    @property
    def storage(self) -> Path:
        return self.folder / "storage"

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    @property
    def planted(self) -> Planted:
        keys = {"ssh key": self.key.private.decode(), "app key": self.app_key}
        return Planted.of({**PLANTED, **keys}, USER)


@pytest.fixture
async def place(
    own_plane: Plane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Place]:
    """Give a controller that says all it can, and servers that know the secrets."""
    async with AsyncExitStack() as stack:
        root = tmp_path / "repositories"
        for each in (root, tmp_path / "tmp"):
            each.mkdir()
        keys, authority = tmp_path / "keys", tmp_path / "authority"
        authority.mkdir()
        known = certificates(authority)
        users = {USER: PLANTED["password"]}
        http = stack.enter_context(
            http_server(root, users=users, bearer_tokens=(PLANTED["bearer"],))
        )
        echo = stack.enter_context(http_server(root, users=users))
        tls = stack.enter_context(http_server(root, tls=known.server))
        github = stack.enter_context(http_server(root, tls=known.server))
        key = ssh_key(keys, "locked", passphrase=PLANTED["passphrase"])
        ssh = stack.enter_context(ssh_server(root, tmp_path / "sshd", [key]))
        proxy = stack.enter_context(connect_proxy({USER: PLANTED["proxy"]}))
        monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
        webhooks = f"127.0.0.1:{free_ports(1)[0]}"
        controller = await asyncio.to_thread(
            start_controller,
            own_plane.kubeconfig,
            OURS,
            sources=True,
            allow_private_networks=True,
            allow_plain_http=True,
            log_level="debug",
            storage_path=str(tmp_path / "storage"),
            webhook_bind_address=webhooks,
        )
        stack.enter_context(controller)
        opened = await stack.enter_async_context(connect(own_plane.kubeconfig))
        world = SourceWorld(opened.client, controller, Git(root, http))
        await world.open()
        made = rsa.generate_private_key(65537, 2048)
        pem = made.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        servers = (http, echo, tls, github, ssh, proxy)
        yield Place(world, *servers, key, pem.decode(), known, f"http://{webhooks}", tmp_path)


async def test_planted_secrets_are_seen_nowhere(place: Place) -> None:
    with spying(place.temporary) as spy:
        await _follow_all(place)
        await _call(place)
        await asyncio.sleep(3.0)  # polled again, and what failed tried again
        place.ssh.pause()  # so that whoever looks finds one at work
        await asyncio.sleep(2.0)
        place.ssh.resume()
    planted, seen = place.planted, await _all_that_is_said(place)
    found = {name: planted.seen_in(text) for name, text in seen.items()}
    assert not any(found.values()), found
    # A proof that we are the app is as good as a login for some minutes.
    assert not [name for name, text in seen.items() if "eyJ" in text]
    _nobody_else_could_read(spy, planted)

    assert await asyncio.to_thread(place.world.controller.stop) == 0
    assert left_in(place.temporary) == []
    for file in left_in(place.storage):
        assert planted.seen_in(file.read_bytes().decode("latin-1")) == [], file
    assert place.storage.stat().st_mode & 0o077 == 0, "others could read what was fetched"
    log = place.world.controller.log.read_text()
    assert planted.seen_in(log) == []


async def test_a_key_does_not_outlive_a_controller_that_is_killed(place: Place) -> None:
    """A killed process removes nothing itself; the next one must."""
    world = place.world
    world.commit({"ssh/a.yaml": config_map("a", b="c")})
    place.ssh.pause()
    await _ssh(place)

    async def is_written() -> None:
        assert _with_secrets(place), "there is no key yet"

    await world.until(is_written, every=0.01)
    world.controller.kill()
    assert _with_secrets(place), "the key of a command that was cut off"
    place.ssh.resume()
    await asyncio.to_thread(world.controller.start)
    await world.ready(name="ssh")

    async def is_gone() -> None:
        assert not _with_secrets(place)

    await world.until(is_gone, 20.0)


def _with_secrets(place: Place) -> list[Path]:
    found = []
    for file in (*left_in(place.temporary), *left_in(place.storage)):
        try:
            text = file.read_bytes().decode("latin-1")
        except FileNotFoundError:
            continue
        # Without its passphrase, a key has other lines than we planted.
        if "PRIVATE KEY" in text or place.planted.seen_in(text):
            found.append(file)
    return found


# Planting


async def _follow_all(place: Place) -> None:
    """Have a source for every secret; those that can work do, the others fail."""
    world = place.world
    world.commit(_manifests())
    await world.secret("basic", username=USER, password=PLANTED["password"])
    await world.secret("bearer", bearerToken=PLANTED["bearer"])
    await world.secret("hook", token=PLANTED["webhook"])
    await world.secret("echo", username=USER, password=PLANTED["echoed"])
    hook = {"secretRef": {"name": "hook"}}
    await world.follow("basic", secretRef={"name": "basic"}, webhook=hook, paths=["fine"])
    await world.follow("bearer", secretRef={"name": "bearer"}, paths=["refused"])
    await world.follow("broken", secretRef={"name": "bearer"}, paths=["broken"])
    place.echo.error_body(f"you sent {{authorization}}, that is {PLANTED['echoed']}\n")
    url = place.echo.url(world.repository.path.name)
    await world.follow("echo", url=url, secretRef={"name": "echo"})
    await _refused_url(place)
    await _ssh(place)
    await _proxies(place)
    await _github(place)
    for name in ("basic", "ssh", "proxy"):
        await world.ready(name=name)
    for name in ("bearer", "broken", "echo", "app", "no-proxy"):
        await world.reported("Ready", "False", name=name)


def _manifests() -> dict[str, object]:
    base = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque"}
    fine = {**base, "metadata": {"name": "fine"}, "stringData": {"word": PLANTED["manifest"]}}
    refused = PLANTED["refused manifest"]
    return {
        "fine/secret.yaml": fine,
        "ssh/a.yaml": config_map("a", b="c"),
        "proxy/b.yaml": config_map("b", b="c"),
        "refused/base64.yaml": {**base, "metadata": {"name": "one"}, "data": {"word": refused}},
        "refused/shape.yaml": {**base, "metadata": {"name": "two"}, "data": [refused]},
        "refused/field.yaml": {**base, "metadata": {"name": "three"}, "date": {"word": refused}},
        "refused/type.yaml": {**base, "metadata": {"name": "four"}, "stringData": refused},
        "broken/quote.yaml": f'kind: Secret\nstringData:\n  word: "{PLANTED["broken manifest"]}\n',
        "broken/twice.yaml": (
            "apiVersion: v1\nkind: Secret\nmetadata: {name: five}\nstringData:\n"
            f"  word: {PLANTED['broken manifest']}\n  word: {PLANTED['broken manifest']}\n"
        ),
        "broken/tab.yaml": f"kind: Secret\nstringData:\n\tword: {PLANTED['broken manifest']}\n",
    }


async def _refused_url(place: Place) -> None:
    try:
        url = f"https://{USER}:{PLANTED['userinfo']}@127.0.0.1/app.git"
        await place.world.follow("userinfo", url=url)
    except ApiError:
        return  # the API server knows better than to store it
    await place.world.reported("Ready", "False", name="userinfo")


async def _ssh(place: Place) -> None:
    world, key = place.world, place.key
    data = {"identity": key.private, "known_hosts": place.ssh.known_hosts}
    await world.secret("ssh", password=PLANTED["passphrase"], **data)
    url = place.ssh.url(world.repository.path.name)
    await world.follow("ssh", url=url, secretRef={"name": "ssh"}, paths=["ssh"])


async def _proxies(place: Place) -> None:
    """Have a source behind a proxy, and one whose login there is wrong."""
    world, name = place.world, place.world.repository.path.name
    await world.secret("tls", **{"ca.crt": place.certificates.ca.certificate})
    login = {"address": place.proxy.address, "username": USER}
    await world.secret("proxy", **login, password=PLANTED["proxy"])
    await world.secret("no-proxy", **login, password=PLANTED["wrong proxy"])
    for each in ("proxy", "no-proxy"):
        await world.follow(
            each,
            url=place.tls.url(name),
            secretRef={"name": "tls"},
            proxySecretRef={"name": each},
            paths=["proxy"],
        )


async def _github(place: Place) -> None:
    place.github.fail(401, '{"message": "not this: {authorization}"}')
    data = {
        "githubAppID": "1",
        "githubAppInstallationID": "4",
        "githubAppPrivateKey": place.app_key,
        "githubAppBaseURL": place.github.address,
    }
    ca = {"ca.crt": place.certificates.ca.certificate}
    await place.world.secret("app", **data, **ca)
    url = place.github.url("app.git")
    await place.world.follow("app", url=url, provider="github", secretRef={"name": "app"})


async def _call(place: Place) -> None:
    """Call the webhook as its forge does, and as somebody else does."""
    source = await place.world.get(place.world.source_ref("basic"))
    url = place.webhooks + source["status"]["webhookPath"]
    codes = [
        await asyncio.to_thread(_knock, url, place.world.url(), PLANTED[each])
        for each in ("webhook", "wrong webhook")
    ]
    assert codes == [202, 403]


def _knock(url: str, repository: str, token: str) -> int:
    said = {"project": {"git_http_url": repository}, "ref": "refs/heads/main", "token": token}
    body = json.dumps(said).encode()
    headers = {
        "Content-Type": "application/json",
        "X-Gitlab-Event": "Push Hook",
        "X-Gitlab-Token": token,
    }
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


# Looking


async def _all_that_is_said(place: Place) -> dict[str, str]:
    """Return everything that people with few rights may read, by where it stands."""
    world = place.world
    sources = await world.cluster.list(Selection(GIT_SOURCE_KIND))
    inventories = await world.cluster.list(Selection(SOURCE_INVENTORY_KIND))
    events = [await world.cluster.list(Selection(kind)) for kind in EVENTS]
    url = f"{world.controller.at.metrics}/metrics"
    with await asyncio.to_thread(urllib.request.urlopen, url) as answer:
        metrics = answer.read().decode()
    said = {
        "log": world.controller.log.read_text(),
        "status": "\n".join(map(outside_spec, sources.items)),
        "inventories": json.dumps(inventories.items),
        "events": json.dumps([each.items for each in events]),
        "metrics": metrics,
    }
    assert len(sources.items) >= 8
    assert all(each.items for each in events), "there are Events to look at"
    assert '"level":"debug"' in said["log"]
    assert "kro_gitops_source" in metrics
    return said


def _nobody_else_could_read(spy: Spy, planted: Planted) -> None:
    argvs = "\n".join(spy.argvs.values())
    assert " ls-remote " in argvs, "a running git was looked at"
    assert "HostKeyAlias=" in argvs, "a running ssh was looked at"
    assert planted.seen_in(argvs) == []
    assert {uid for _, uid in spy.environments} == {os.getuid()}
    assert {mode for mode, _ in spy.environments} == {0o400}
    assert any(path.endswith("/identity") for path in spy.modes), "no file of a login was seen"
    assert {path: oct(mode) for path, mode in spy.modes.items() if mode & 0o077} == {}
