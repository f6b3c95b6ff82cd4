"""
The CRDs of sources on a real API server: what it accepts, what it refuses, and what people see.

Everything in the tables is sent as a rehearsal; only what is to be looked at is stored.
"""

import asyncio
import json
import re
import time
from typing import Any
from unittest.mock import ANY

import pytest
import yaml

from kro_gitops.errors import NotServed
from kro_gitops.kube.api import Cluster, MergePatch, Selection, WriteOptions
from kro_gitops.kube.responses import ApiError, NotFound
from kro_gitops.source.api.crd import source_crds
from kro_gitops.source.api.resources import GIT_SOURCE_KIND, SOURCE_INVENTORY_KIND
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.rights import Kubectl
from tools.cluster.plane import Plane
from tools.update_source_docs import PAGE

COMMIT = "0123456789abcdef0123456789abcdef01234567"
URL = "https://git.example.com/team/shop.git"
SECRET = {"name": "secret"}
LIMIT = 30.0  # seconds until a CRD must be served

ACCEPTED: dict[str, dict[str, Any]] = {
    "a URL": {},
    "plain http": {"url": "http://git.example.com/shop"},
    "a port": {"url": "https://git.example.com:8443/shop"},
    "ssh": {"url": "ssh://git@git.example.com:2222/shop.git", "secretRef": SECRET},
    "a folder": {"url": "file:///srv/git/shop.git"},
    "a branch": {"ref": {"branch": "feature/a@b"}},
    "a commit in a branch": {"ref": {"branch": "main", "commit": COMMIT}},
    "a commit of a SHA-256 repository": {"ref": {"commit": "ab" * 32}},
    "a range and a filter": {"ref": {"semver": ">=1.0.0 <2", "semverFilter": "^v"}},
    "a pull request": {"ref": {"name": "refs/pull/7/head"}},
    "an empty ref": {"ref": {}},
    "paths": {"paths": ["apps", "rgds/web.yaml"]},
    "the longest interval people write": {"interval": "24h0m0s"},
    "half a second": {"timeout": "500ms"},
    "a GitHub App": {"provider": "github", "secretRef": SECRET},
    "a proxy": {"proxySecretRef": SECRET},
    "signed commits": {"verify": {"secretRef": SECRET}},
    "signed tags": {"verify": {"mode": "Tag", "secretRef": SECRET}, "ref": {"tag": "v1"}},
    "signed tags by ref": {
        "verify": {"mode": "TagAndHEAD", "secretRef": SECRET},
        "ref": {"name": "refs/tags/v1"},
    },
    "no brake": {"maxPrune": {"percent": 100}},
    "the hardest brake": {"maxPrune": {"percent": 0, "count": 0}},
    "drift": {"drift": {"mode": "warn", "ignore": [{"paths": ["/spec/replicas"]}]}},
    "drift of some": {"drift": {"ignore": [{"paths": ["/a~1b"], "target": {"kind": "Job"}}]}},
    "all that can be allowed": {
        "allow": {
            "namespaces": ["team-*"],
            "kinds": ["*.apps", "ConfigMap"],
            "clusterScoped": True,
            "rgds": True,
            "instancesOf": ["WebApp.kro.run"],
        }
    },
    "an account": {"serviceAccountName": "deployer"},
    "dependencies": {"dependsOn": [{"name": "a"}, {"name": "b", "namespace": "c"}]},
    "a bridge": {"tracking": {"mode": "bridge", "application": "apps/shop"}},
    "notifications": {
        "notifications": [{"type": "slack", "secretRef": SECRET, "events": ["Failed"]}]
    },
    "a webhook": {"webhook": {"secretRef": SECRET, "forge": "gitea"}},
    "a pin": {"pin": {"commit": COMMIT, "reason": "x", "expires": "2026-03-01T09:30:00Z"}},
    "a pin for no reason": {"pin": {"commit": COMMIT, "reason": "", "by": ""}},
    "nothing to ignore": {"ignore": ""},
    "a policy": {"deletionPolicy": "Orphan"},
}

FORMS = (
    "spec: Invalid value: url must be https://HOST/PATH, http://HOST/PATH, ssh://USER@HOST/PATH "
    "or file:///PATH; git@HOST:PATH is written ssh://git@HOST/PATH"
)
LOGIN = (
    "spec: Invalid value: url must not hold a user name or a password: put them into a Secret "
    "and name it in spec.secretRef"
)
BLANK = "spec: Invalid value: url must not contain white space or control characters"
NO_DURATION = r"should match '^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$'"
NO_COMMIT = "should match '^([0-9a-f]{40}|[0-9a-f]{64})$'"
NO_TAG = "verify.mode Tag and TagAndHEAD need a tag: set ref.tag or ref.semver"

# What is sent, and what the message must contain.
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no URL": ({"url": None}, "spec.url: Required value"),
    "an empty URL": ({"url": ""}, "spec.url: Invalid value"),
    "as for scp": ({"url": "git@git.example.com:shop"}, FORMS),
    "a name": ({"url": "git.example.com/shop"}, FORMS),
    "a folder without a scheme": ({"url": "/srv/git"}, FORMS),
    "another scheme": ({"url": "git://git.example.com/shop"}, FORMS),
    "a helper": ({"url": "ext::sh -c true"}, FORMS),
    "a host alone": ({"url": "https://git.example.com"}, FORMS),
    "a file on a host": ({"url": "file://host/shop"}, FORMS),
    "a blank": (
        {"url": "https://git.example.com/a b"},
        BLANK,
    ),
    "a new line": ({"url": f"{URL}\n"}, BLANK),
    "a token": ({"url": "https://token@git.example.com/shop"}, LOGIN),
    "a password": ({"url": "https://me:word@git.example.com/shop"}, LOGIN),
    "a password over ssh": (
        {"url": "ssh://git:word@git.example.com/shop", "secretRef": SECRET},
        LOGIN,
    ),
    "ssh without a key": (
        {"url": "ssh://git@git.example.com/shop"},
        "an ssh:// URL needs secretRef: the Secret with identity and known_hosts",
    ),
    "a URL of 2049 characters": ({"url": f"https://a/{'x' * 2039}"}, "Too long: may not be more"),
    "a short commit": ({"ref": {"commit": "0123abc"}}, NO_COMMIT),
    "a commit in capitals": ({"ref": {"commit": COMMIT.upper()}}, NO_COMMIT),
    "a filter without a range": (
        {"ref": {"semverFilter": "^v"}},
        "spec.ref: Invalid value: semverFilter chooses among the tags of a range: set semver, too",
    ),
    "an empty branch": ({"ref": {"branch": ""}}, "spec.ref.branch"),
    "a short name of a ref": ({"ref": {"name": "main"}}, "should match '^refs/.+$'"),
    "65 paths": (
        {"paths": [f"p{number}" for number in range(65)]},
        "spec.paths: Too many: 65: must have at most 64 items",
    ),
    "a path twice": ({"paths": ["a", "a"]}, 'spec.paths[1]: Duplicate value: "a"'),
    "a number": ({"interval": "60"}, NO_DURATION),
    "days": ({"interval": "1d"}, NO_DURATION),
    "no time": ({"healthTimeout": "soon"}, NO_DURATION),
    "less than nothing": ({"timeout": "-1s"}, NO_DURATION),
    "another provider": (
        {"provider": "aws"},
        'spec.provider: Unsupported value: "aws": supported values: "generic", "github"',
    ),
    "a GitHub App without a key": (
        {"provider": "github"},
        "provider github needs secretRef: the Secret with the key of the GitHub App",
    ),
    "a Secret without a name": ({"secretRef": {}}, "spec.secretRef.name: Required value"),
    "a Secret in another namespace": (
        {"secretRef": {"name": "a/b"}},
        "spec.secretRef.name: Invalid value",
    ),
    "signatures without keys": (
        {"verify": {"mode": "HEAD"}},
        "spec.verify: Invalid value: needs secretRef: the Secret with the keys that are trusted",
    ),
    "signed tags of a branch": (
        {"verify": {"mode": "Tag", "secretRef": SECRET}, "ref": {"branch": "main"}},
        NO_TAG,
    ),
    "signed tags of nothing": ({"verify": {"mode": "TagAndHEAD", "secretRef": SECRET}}, NO_TAG),
    "another mode": (
        {"verify": {"mode": "head", "secretRef": SECRET}},
        'supported values: "HEAD", "Tag", "TagAndHEAD"',
    ),
    "more than all": (
        {"maxPrune": {"percent": 101}},
        "spec.maxPrune.percent in body should be less than or equal to 100",
    ),
    "fewer than none": (
        {"maxPrune": {"count": -1}},
        "spec.maxPrune.count in body should be greater than or equal to 0",
    ),
    "half an object": ({"maxPrune": {"count": 0.5}}, "must be of type integer"),
    "no pointer": (
        {"drift": {"ignore": [{"paths": ["spec.replicas"]}]}},
        "spec.drift.ignore[0].paths[0] in body should match '^/'",
    ),
    "no fields to ignore": (
        {"drift": {"ignore": [{"paths": []}]}},
        "spec.drift.ignore[0].paths in body should have at least 1 items",
    ),
    "another way to drift": ({"drift": {"mode": "fix"}}, '"correct", "warn", "ignore"'),
    "another policy": ({"deletionPolicy": "Keep"}, '"MirrorPrune", "Delete"'),
    "a bridge to nowhere": (
        {"tracking": {"mode": "bridge"}},
        "mode bridge needs application: the Application that shall show the objects",
    ),
    "no name of an Application": (
        {"tracking": {"application": "a/b/c"}},
        "spec.tracking.application: Invalid value",
    ),
    "a dependency without a name": (
        {"dependsOn": [{"namespace": "a"}]},
        "spec.dependsOn[0].name: Required value",
    ),
    "a webhook without a secret": (
        {"webhook": {"forge": "github"}},
        "spec.webhook.secretRef: Required value",
    ),
    "another forge": ({"webhook": {"secretRef": SECRET, "forge": "cvs"}}, '"bitbucket-server"'),
    "a message to nobody": (
        {"notifications": [{"type": "slack"}]},
        "spec.notifications[0].secretRef: Required value",
    ),
    "news that nobody ever has": (
        {"notifications": [{"secretRef": SECRET, "events": ["Exploded"]}]},
        '"HistoryRewritten"',
    ),
    "a pin to a branch": ({"pin": {"commit": "main"}}, NO_COMMIT),
    "a pin without a commit": ({"pin": {"reason": "x"}}, "spec.pin.commit: Required value"),
    "a pin until some time": (
        {"pin": {"commit": COMMIT, "expires": "tomorrow"}},
        'spec.pin.expires: Invalid value: "tomorrow"',
    ),
    "yes and no": ({"prune": "yes"}, "spec.prune in body must be of type boolean"),
    "an account of another namespace": (
        {"serviceAccountName": "a:b"},
        "spec.serviceAccountName: Invalid value",
    ),
}

STATUS: dict[str, Any] = {
    "observedGeneration": 1,
    "phase": "Healthy",
    "lastAppliedRevision": f"main@sha1:{COMMIT}",
    "inventory": {"objects": 12},
    "history": [{"revision": f"main@sha1:{COMMIT}", "result": "Healthy", "created": 12}],
    "conditions": [
        {
            "type": "Ready",
            "status": "True",
            "reason": "Ready",
            "message": "12 objects are applied",
            "lastTransitionTime": "2026-03-01T09:30:00Z",
        }
    ],
}


def source(namespace: str, name: str = "new", **spec: Any) -> KubeObject:
    given = {"url": URL, **spec}
    return {
        "apiVersion": GIT_SOURCE_KIND.api_version,
        "kind": GIT_SOURCE_KIND.kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {field: value for field, value in given.items() if value is not None},
    }


@pytest.fixture
async def served(cluster: Cluster) -> Cluster:
    """Give a client of a cluster that serves sources."""
    for crd in source_crds():
        await cluster.apply(crd, WriteOptions(manager="kro-gitops", force=True))
    async with asyncio.timeout(LIMIT):
        for kind in (GIT_SOURCE_KIND, SOURCE_INVENTORY_KIND):
            while not await is_served(cluster, kind):  # noqa: ASYNC110 - nobody tells when
                await asyncio.sleep(0.05)
    return cluster


async def is_served(cluster: Cluster, kind: Kind) -> bool:
    try:
        await cluster.list(Selection(kind))
    except (NotServed, NotFound):  # discovery lags behind
        return False
    return True


async def sent(cluster: Cluster, obj: KubeObject) -> tuple[KubeObject, str]:
    """Rehearse to create an object: what would be stored, or the message."""
    try:
        return await cluster.create(obj, WriteOptions(dry_run=True)), ""
    except ApiError as error:
        return {}, error.status.message


async def test_what_is_accepted(served: Cluster, namespace: str) -> None:
    messages = {
        name: (await sent(served, source(namespace, **spec)))[1] for name, spec in ACCEPTED.items()
    }
    assert {name: message for name, message in messages.items() if message} == {}


async def test_examples_in_the_documentation_are_accepted(served: Cluster, namespace: str) -> None:
    texts = re.findall(r"<!-- example -->\n```yaml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(texts) == 2
    for text in texts:
        example = yaml.safe_load(text)
        example["metadata"]["namespace"] = namespace
        assert await sent(served, example) == (ANY, "")


async def test_what_is_refused_and_what_people_are_told(served: Cluster, namespace: str) -> None:
    assert len(ACCEPTED) + len(REFUSED) >= 40
    wrong = {}
    for name, (spec, text) in REFUSED.items():
        _, message = await sent(served, source(namespace, **spec))
        if text not in message.replace('Invalid value: "object": ', "Invalid value: "):
            wrong[name] = message or "accepted"
    assert wrong == {}


async def test_a_password_is_not_repeated(served: Cluster, namespace: str) -> None:
    for url in ("https://me:s3cret@git.example.com/shop", "https://s3cret@a", "me:s3cret@a:b c"):
        _, message = await sent(served, source(namespace, url=url))
        assert "url must" in message
        assert "s3cret" not in message


async def test_defaults_are_filled_in(served: Cluster, namespace: str) -> None:
    stored, _ = await sent(served, source(namespace, maxPrune={}, tracking={}))
    assert stored["spec"] == {
        "url": URL,
        "interval": "1m",
        "timeout": "60s",
        "suspend": False,
        "provider": "generic",
        "blobFilter": False,
        "prune": True,
        "maxPrune": {"percent": 30, "count": 5},
        "allowEmpty": False,
        "deletionPolicy": "MirrorPrune",
        "adopt": False,
        "force": False,
        "wait": True,
        "healthTimeout": "5m",
        "tracking": {"mode": "follow", "argocdNamespace": "argocd"},
    }


async def test_kubectl_shows_what_matters(served: Cluster, namespace: str, plane: Plane) -> None:
    made = await served.create(source(namespace, "shop"))
    status = WriteOptions(subresource="status")
    await served.patch(ObjectRef.of(made), MergePatch({"status": STATUS}), status)
    kubectl = Kubectl(plane.kubeconfig)

    def shown(*words: str) -> list[list[str]]:
        lines = kubectl("get", *words, f"--namespace={namespace}").splitlines()
        return [line.split() for line in lines]

    revision = f"main@sha1:{COMMIT}"
    message = ["12", "objects", "are", "applied"]
    heading, row = shown("gs")
    assert heading == ["NAME", "READY", "REVISION", "OBJECTS", "STATUS", "AGE"]
    assert row[:-1] == ["shop", "True", revision, "12", *message]
    heading, row = shown("gitsource", "-o", "wide")
    assert heading == ["NAME", "URL", "READY", "PHASE", "REVISION", "OBJECTS", "STATUS", "AGE"]
    assert row[:-1] == ["shop", URL, "True", "Healthy", revision, "12", *message]
    assert "gitsource.gitops.kro.run/shop" in kubectl(
        "get", "gitops", f"--namespace={namespace}", "-o", "name"
    )


@pytest.mark.usefixtures("served")
def test_kubectl_explains(plane: Plane) -> None:
    kubectl = Kubectl(plane.kubeconfig)

    def explained(field: str) -> str:
        return " ".join(kubectl("explain", field).split())

    # A real API server documents a new kind some time after it serves it.
    deadline = time.monotonic() + LIMIT
    while (
        kubectl.attempt("explain", "gs").returncode or kubectl.attempt("explain", "si").returncode
    ):
        assert time.monotonic() < deadline, "they are never explained"
        time.sleep(0.2)
    assert "Delete what is no longer in the repository." in explained("gitsource.spec.prune")
    assert "main@sha1:ID" in explained("gs.status.artifact.revision")
    assert "Undo it (correct), report it (warn)" in explained("gs.spec.drift.mode")
    assert "A hash of its content." in explained("si.entries.hash")


def entry(number: int) -> tuple[str, dict[str, str]]:
    fields = {"version": "v1", "uid": f"uid-{number}", "hash": "h", "stage": "instances"}
    return f"/ConfigMap/team/settings-{number}", {**fields, "path": "a.yaml", "revision": COMMIT}


async def test_many_entries_have_one_owner_between_them(served: Cluster, namespace: str) -> None:
    inventory: KubeObject = {
        "apiVersion": SOURCE_INVENTORY_KIND.api_version,
        "kind": SOURCE_INVENTORY_KIND.kind,
        "metadata": {
            "name": "shop-0",
            "namespace": namespace,
            "labels": {"gitops.kro.run/source-name": "shop"},
        },
        "entries": dict(map(entry, range(1000))),
    }
    made = await served.create(inventory)
    key, changed = entry(7)
    change = MergePatch({"entries": {key: {**changed, "uid": "another"}}})
    await served.patch(ObjectRef.of(made), change, WriteOptions(manager="kro-gitops/source"))
    stored = await served.get(ObjectRef.of(made))
    assert len(stored["entries"]) == 1000
    assert stored["entries"][key] == {**changed, "uid": "another"}
    assert stored["entries"][entry(8)[0]] == entry(8)[1]
    managed = stored["metadata"].get("managedFields")
    assert managed, "the client keeps them"
    owned = [each for each in managed if "f:entries" in each["fieldsV1"]]
    assert [each["fieldsV1"]["f:entries"] for each in owned] == [{}] * len(owned)
    assert len(json.dumps(managed)) < 2000
