"""
`why` on a real API server, with the controller at work and a git repository beside it.

A source applies two commits. Then the controller is stopped, and kubectl changes the children.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kro_gitops.cli.verbs import VERBS
from tests.command import Outcome, run
from tests.e2e.following.world import EVERYTHING
from tests.e2e.scenarios.controllers import OURS, start_controller
from tests.git_http_server import http_server
from tools.cluster.parts import ToolError
from tools.cluster.targets import may_be_missing, started_plane

pytestmark = pytest.mark.timeout(240)

_EXAMPLE = re.compile(r"^  kro-gitops (.*)$", re.MULTILINE)
_GIVE_UP = 60.0
SOURCE = "gitops/platform"

DEFINITION = """\
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata:
  name: webapp
spec:
  schema:
    apiVersion: v1alpha1
    kind: WebApp
    spec:
      image: string | required=true
      replicas: integer | default=2
      size: string | default="small"
      queues: '[]string'
      token: string
      public: boolean | default=false
    status:
      replicas: ${deployment.spec.replicas}
  resources:
    - id: settings
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata:
          name: ${schema.metadata.name}
        data:
          LOG_LEVEL: info
          SIZE: ${schema.spec.size}
    - id: token
      template:
        apiVersion: v1
        kind: Secret
        metadata:
          name: ${schema.metadata.name}
        stringData:
          token: ${schema.spec.token}
    - id: deployment
      template:
        apiVersion: apps/v1
        kind: Deployment
        metadata:
          name: ${schema.metadata.name}
        spec:
          replicas: ${schema.spec.replicas}
          selector:
            matchLabels:
              app: ${schema.metadata.name}
          template:
            metadata:
              labels:
                app: ${schema.metadata.name}
            spec:
              containers:
                - name: app
                  image: ${schema.spec.image}
                  envFrom:
                    - configMapRef:
                        name: ${settings.metadata.name}
    - id: service
      includeWhen:
        - ${schema.spec.public}
      template:
        apiVersion: v1
        kind: Service
        metadata:
          name: ${schema.metadata.name}
        spec:
          selector: ${deployment.spec.selector.matchLabels}
          ports:
            - port: 80
    - id: queues
      forEach:
        - queue: ${schema.spec.queues}
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata:
          name: ${schema.metadata.name}-${queue}
        data:
          queue: ${queue}
"""
INSTANCE = """\
# The front of the shop.
apiVersion: kro.run/v1alpha1
kind: WebApp
metadata:
  name: front
  namespace: shop
  labels:
    team: shop
spec:
  image: registry.example.com/shop/front:1.4.2
  replicas: 1
  token: hunter2-is-no-password
  public: true
  queues: [orders, returns]
"""


@dataclass(frozen=True, slots=True)
class Shop:
    """A cluster and a repository; `first` and `second` are its commits."""

    kubeconfig: Path
    repo: Path
    first: str
    second: str

    def kubectl(self, *words: str, text: str = "") -> str:
        command = ["kubectl", "--kubeconfig", str(self.kubeconfig), *words]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ask(self, *words: str | Path, repo: bool = True) -> Outcome:
        named = ("--repo", self.repo) if repo else ()
        return run("why", *words, *named, "--kubeconfig", self.kubeconfig, "-n", "shop")

    def data(self, *words: str, repo: bool = True) -> Any:
        done = self.ask(*words, "-o", "json", repo=repo)
        assert done.code == 0, done.err
        return done.json


def git(folder: Path, *words: str, who: str = "Ada Lovelace") -> str:
    name = who.split()[0].lower()
    people = {
        f"GIT_{role}_{part}": value
        for role in ("AUTHOR", "COMMITTER")
        for part, value in (("NAME", who), ("EMAIL", f"{name}@example.com"))
    }
    done = subprocess.run(
        ["git", "-C", str(folder), *words],
        env={**os.environ, **people},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def make_repository(folder: Path) -> tuple[str, str]:
    for name, text in (("rgds/webapp.yaml", DEFINITION), ("instances/front.yaml", INSTANCE)):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text, encoding="utf-8")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "A shop of our own")
    first = git(folder, "rev-parse", "HEAD")
    front = folder / "instances/front.yaml"
    front.write_text(INSTANCE.replace("replicas: 1", "replicas: 3"), encoding="utf-8")
    git(folder, "commit", "-q", "-a", "-m", "Three of them for the sale", who="Grace Hopper")
    return first, git(folder, "rev-parse", "HEAD")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    repo = tmp_path_factory.mktemp("platform")
    first, second = make_repository(repo)
    try:
        with started_plane() as plane:
            made = Shop(plane.kubeconfig, repo, first, second)
            _populate(made)
            yield made
    except ToolError as error:
        if not may_be_missing():
            pytest.fail(f"nothing was tested on a real API server: {error}")
        pytest.skip(f"nothing was tested on a real API server: {error}")


def _populate(shop: Shop) -> None:
    """Have a source apply both commits, one after the other, and stop its controller."""
    flags = {"sources": True, "allow_private_networks": True, "allow_plain_http": True}
    namespace, name = SOURCE.split("/")
    for each in ("shop", namespace):
        shop.kubectl("create", "namespace", each)
    git(shop.repo, "branch", "live", shop.first)
    with (
        http_server(shop.repo.parent) as server,
        start_controller(shop.kubeconfig, OURS, **flags),
    ):
        source = {
            "apiVersion": "gitops.kro.run/v1alpha1",
            "kind": "GitSource",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "url": server.url(f"{shop.repo.name}/.git"),
                "ref": {"branch": "live"},
                "interval": "1s",
                "allow": EVERYTHING,
                "wait": False,  # no controller here makes Deployments available
            },
        }
        shop.kubectl("apply", "-f", "-", text=json.dumps(source))
        _until(lambda: _is_active(shop, shop.first))
        git(shop.repo, "branch", "--force", "live", shop.second)
        _until(lambda: _is_active(shop, shop.second))
    _disturb(shop)


def _is_active(shop: Shop, commit: str) -> None:
    """Fail unless the instance of a commit is Ready, and its source reports it."""
    instance = json.loads(shop.kubectl("get", "webapp", "front", "-n", "shop", "-o", "json"))
    assert instance["status"]["state"] == "ACTIVE"
    generation = instance["metadata"]["generation"]
    assert all(
        each["observedGeneration"] == generation for each in instance["status"]["conditions"]
    )
    namespace, name = SOURCE.split("/")
    source = json.loads(shop.kubectl("get", "gitsource", name, "-n", namespace, "-o", "json"))
    assert source["status"]["lastAppliedRevision"].endswith(commit)
    assert source["status"]["phase"] == "Healthy"


def _until(check: Callable[[], object]) -> None:
    deadline = time.monotonic() + _GIVE_UP
    while True:
        try:
            check()
        except (AssertionError, KeyError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return


def _disturb(shop: Shop) -> None:
    """Change things by hand, now that nobody repairs them."""
    here = ("-n", "shop")
    shop.kubectl("scale", "deployment/front", "--replicas=7", *here)
    image = {"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "evil:1"}]}}}}
    by_hand = "--field-manager=kubectl-edit"
    shop.kubectl("patch", "deployment/front", *here, by_hand, "-p", json.dumps(image))
    side = {"name": "sidecar", "image": "side:1"}
    more = [{"op": "add", "path": "/spec/template/spec/containers/0", "value": side}]
    shop.kubectl(
        *("patch", "deployment/front", *here, "--type=json"),
        *("--field-manager=injector", "-p", json.dumps(more)),
    )
    shop.kubectl("patch", "cm/front", *here, "-p", '{"data": {"LOG_LEVEL": null}}', by_hand)
    shop.kubectl("patch", "secret/front", *here, "-p", '{"stringData": {"token": "x"}}', by_hand)
    shop.kubectl("label", "service/front", *here, "colour=blue")


# Fields of children


def test_a_field_that_drifted(shop: Shop) -> None:
    found = shop.data("deployment/front", "spec.replicas")
    assert found["origin"] == "template-expression"
    assert found["expression"] == "${schema.spec.replicas}"
    assert found["value"] == "7"
    (drift,) = found["drift"]
    assert (drift["wanted"], drift["live"], drift["certain"]) == ("3", "7", True)
    (by,) = drift["by"]
    assert (by["manager"], by["operation"], by["subresource"]) == ("kubectl", "Update", "scale")
    assert by["time"] == ""  # the API server notes none for this subresource


def test_the_line_and_commit_of_the_template_and_of_the_instance(shop: Shop) -> None:
    found = shop.data("deployment/front", "spec.replicas")
    (template,) = found["places"]
    line = _line_of(DEFINITION, "replicas: ${schema.spec.replicas}")
    assert (template["file"], template["line"]) == ("rgds/webapp.yaml", line)
    assert template["text"].strip() == "replicas: ${schema.spec.replicas}"
    assert template["commit"]["author"] == "Ada Lovelace"
    assert template["source"] == SOURCE
    (reference,) = found["references"]
    assert reference["reads"] == "schema.spec.replicas"
    behind = reference["provenance"]
    assert (behind["kind"], behind["field"], behind["value"]) == ("WebApp", "spec.replicas", "3")
    (place,) = behind["places"]
    assert (place["file"], place["line"]) == ("instances/front.yaml", 11)
    assert place["column"] == 13
    commit = place["commit"]
    assert (commit["id"], commit["author"]) == (shop.second, "Grace Hopper")
    assert (commit["email"], commit["subject"]) == (
        "grace@example.com",
        "Three of them for the sale",
    )


def test_a_container_by_its_name_though_another_was_put_before_it(shop: Shop) -> None:
    found = shop.data("deployment/front", "spec.template.spec.containers[name=app].image")
    assert found["field"] == "spec.template.spec.containers[1].image"
    (drift,) = found["drift"]
    assert drift["wanted"] == '"registry.example.com/shop/front:1.4.2"'
    assert drift["live"] == '"evil:1"'
    (by,) = drift["by"]
    assert (by["manager"], by["operation"]) == ("kubectl-edit", "Update")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]+Z", by["time"])
    (template,) = found["places"]
    assert template["line"] == _line_of(DEFINITION, "image: ${schema.spec.image}")
    # A line of the first commit that the second did not touch.
    place = found["references"][0]["provenance"]["places"][0]
    assert place["line"] == _line_of(INSTANCE, "image:")
    assert place["commit"]["author"] == "Ada Lovelace"


def test_an_item_that_somebody_else_added(shop: Shop) -> None:
    found = shop.data("deployment/front", "spec.template.spec.containers[0].image")
    assert (found["origin"], found["value"]) == ("manager", '"side:1"')
    assert [each["manager"] for each in found["writers"]] == ["injector"]


def test_a_field_that_somebody_removed(shop: Shop) -> None:
    found = shop.data("configmap/front", "data.LOG_LEVEL")
    assert (found["origin"], found["value"]) == ("template-literal", "nothing")
    (drift,) = found["drift"]
    assert (drift["wanted"], drift["live"]) == ('"info"', "nothing")
    assert found["places"][0]["line"] == _line_of(DEFINITION, "LOG_LEVEL")


def test_a_default_of_the_schema_behind_a_field(shop: Shop) -> None:
    found = shop.data("cm/front", "data.SIZE")
    assert "drift" not in found
    behind = found["references"][0]["provenance"]
    assert (behind["origin"], behind["value"]) == ("schema-default", '"small"')
    (place,) = behind["places"]
    assert (place["file"], place["line"]) == (
        "rgds/webapp.yaml",
        _line_of(DEFINITION, "size: string"),
    )


def test_an_item_of_a_collection(shop: Shop) -> None:
    found = shop.data("configmap/front-returns", "data.queue")
    assert found["expression"] == "${queue}"
    (reference,) = found["references"]
    assert reference["note"] == "'queue' is item 1 of ${schema.spec.queues}"
    behind = reference["provenance"]
    assert (behind["field"], behind["value"]) == ("spec.queues[1]", '"returns"')
    (place,) = behind["places"]
    assert (place["line"], place["column"]) == (14, 20)


def test_a_field_that_goes_through_another_child(shop: Shop) -> None:
    found = shop.data("service/front", "spec.selector.app")
    through = found["references"][0]
    assert through["reads"] == "deployment.spec.selector.matchLabels.app"
    assert through["provenance"]["kind"] == "Deployment"
    last = through["provenance"]["references"][0]["provenance"]
    assert (last["kind"], last["field"]) == ("WebApp", "metadata.name")
    assert last["places"][0]["line"] == 5


def test_a_default_of_the_api_server(shop: Shop) -> None:
    found = shop.data("service/front", "spec.sessionAffinity")
    assert found["origin"] == "api-server"
    found = shop.data("deployment/front", "metadata.uid")
    assert found["origin"] == "api-server"


def test_a_status_says_who_reports_it(shop: Shop) -> None:
    found = shop.data("webapp/front", "status.replicas")
    assert (found["origin"], found["expression"]) == (
        "template-expression",
        "${deployment.spec.replicas}",
    )
    assert found["references"][0]["provenance"]["kind"] == "Deployment"
    found = shop.data("webapp/front", "status.state")
    assert (found["origin"], found["text"]) == ("manager", "reported by the controller")


def test_our_marks(shop: Shop) -> None:
    found = shop.data("deployment/front", "metadata.labels.kro.run/node-id")
    assert (found["origin"], found["value"]) == ("stamp", '"deployment"')
    found = shop.data("deployment/front", "metadata.labels.team")
    assert found["text"] == "set by the controller: flows from the labels of the instance"
    assert found["references"][0]["provenance"]["places"][0]["line"] == 8
    found = shop.data("service/front", "metadata.labels.colour")
    assert (found["origin"], found["writers"][0]["manager"]) == ("manager", "kubectl-label")
    found = shop.data("deployment/front", "metadata.ownerReferences[0].name")
    assert found["origin"] == "stamp"


def test_secrets_are_hashes(shop: Shop) -> None:
    for form in ("text", "json"):
        done = shop.ask("secret/front", "data.token", "-o", form)
        assert done.code == 0, done.err
        assert "hunter2" not in done.out
        assert "aHVudGVy" not in done.out
    found = shop.data("secret/front", "data.token")
    assert found["value"].startswith("hash:")
    (drift,) = found["drift"]
    assert drift["wanted"].startswith("hash:")
    assert drift["wanted"] != drift["live"]
    assert drift["by"][0]["manager"] == "kubectl-edit"


# Other objects


def test_a_field_of_an_instance(shop: Shop) -> None:
    found = shop.data("webapp/front", "spec.replicas")
    assert (found["origin"], found["places"][0]["line"]) == ("manifest", 11)
    found = shop.data("webapp/front", "spec.size")
    assert found["origin"] == "schema-default"
    found = shop.data("webapp/front", "metadata.finalizers[0]")
    assert found["origin"] == "stamp"
    assert "drift" not in found


def test_a_field_of_a_definition(shop: Shop) -> None:
    found = shop.data("rgd/webapp", "spec.resources[0].template.data.LOG_LEVEL")
    assert (found["origin"], found["places"][0]["file"]) == ("manifest", "rgds/webapp.yaml")
    assert found["places"][0]["line"] == _line_of(DEFINITION, "LOG_LEVEL")


def test_an_object_as_a_whole(shop: Shop) -> None:
    found = shop.data("service/front")
    assert found["text"] == ("made by WebApp shop/front, as node 'service' of definition 'webapp'")
    assert [each["name"] for each in found["madeBy"]] == ["front"]
    template, instance = found["places"]
    assert (template["what"], instance["what"]) == ("template", "instance")
    assert template["line"] == _line_of(DEFINITION, "template:", after="id: service")
    assert instance["file"] == "instances/front.yaml"
    assert (template["commit"]["id"], instance["commit"]["id"]) == (shop.first, shop.second)
    assert found["includeWhen"] == [
        {
            "expression": "${schema.spec.public}",
            "value": "true",
            "reads": ["schema.spec.public"],
        }
    ]
    (other,) = found["others"]
    assert (other["manager"], other["fields"]) == ("kubectl-label", ["metadata.labels.colour"])


def test_an_object_as_a_whole_lists_what_drifted(shop: Shop) -> None:
    found = shop.data("deployment/front")
    assert {each["field"] for each in found["drift"]} == {
        "spec.replicas",
        "spec.template.spec.containers[0].image",
    }
    assert "injector" in {each["manager"] for each in found["others"]}


# Repositories


def test_without_a_repository_the_source_says_who_and_the_answer_how_to_get_more(
    shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = shop.ask("deployment/front", "spec.replicas", repo=False)
    assert done.code == 0
    assert "rgds/webapp.yaml of gitops/platform" in done.out
    commit = f"{shop.second[:12]} Grace Hopper, [0-9]+[sm] ago: Three of them for the sale"
    assert re.search(commit, done.out)
    assert "give --repo PATH or --fetch" in done.err


def test_the_clone_that_we_stand_in_is_taken(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop.repo / "instances")
    found = shop.data("webapp/front", "spec.replicas", repo=False)
    assert found["places"][0]["line"] == 11


def test_a_clone_without_the_commit_says_so(shop: Shop, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    done = run(
        *("why", "webapp/front", "spec.replicas", "-n", "shop"),
        *("--kubeconfig", shop.kubeconfig, "--repo", tmp_path),
    )
    assert done.code == 0
    assert f"has no commit {shop.second[:12]} of source gitops/platform" in done.err


def test_what_cannot_be_fetched_is_said(shop: Shop, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    done = run(
        *("why", "webapp/front", "spec.replicas", "-n", "shop", "--fetch"),
        *("--kubeconfig", shop.kubeconfig, "--repo", tmp_path),
    )
    assert done.code == 0
    assert "note: source gitops/platform: " in done.err


# What goes wrong, and how it reads


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("deployment/frnt",), "there is no Deployment 'frnt' in namespace 'shop'"),
        (("deployment/frnt",), "hint: there are: front"),
        (("nothing/front",), "error[no-such-kind]"),
        (("deployment/front", "spec.replcas"), "has no field 'spec.replcas'"),
        (("deployment/front", "spec.replcas"), "hint: 'spec' has: replicas"),
        (
            ("deployment/front", "spec.template.spec.containers[name=x].image"),
            "has: [name=sidecar], [name=app]",
        ),
    ],
)
def test_what_is_not_there(words: tuple[str, ...], message: str, shop: Shop) -> None:
    done = shop.ask(*words)
    assert (done.code, done.out) == (1, "")
    assert message in done.err


def test_the_answer_for_people(shop: Shop) -> None:
    done = shop.ask("deployment/front", "spec.replicas")
    assert (done.code, done.err) == (0, "")
    ages = re.sub(r"\d+m?\d*s ago", "5s ago", done.out)
    shown = re.sub(r"\(20[^)]*\)", "(…)", ages)
    assert shown == (
        "Deployment shop/front: spec.replicas = 7\n"
        "  drifted    desired 3, is 7\n"
        "             by kubectl (Update, scale)\n"
        "  because    computed in the template of node 'deployment' of definition 'webapp'\n"
        "             ${schema.spec.replicas}\n"
        f"  where      rgds/webapp.yaml:{_line_of(DEFINITION, 'replicas: ${schema')}:21"
        " of gitops/platform\n"
        "             replicas: ${schema.spec.replicas}\n"
        f"  commit     {shop.first[:12]} Ada Lovelace <ada@example.com>, 5s ago:"
        " A shop of our own\n"
        "  reads      schema.spec.replicas\n"
        "    WebApp shop/front: spec.replicas = 3\n"
        "      because    written in a file of source gitops/platform\n"
        "      where      instances/front.yaml:11:13 of gitops/platform\n"
        "                 replicas: 3\n"
        f"      commit     {shop.second[:12]} Grace Hopper <grace@example.com>, 5s ago:"
        " Three of them for the sale\n"
    )


@pytest.mark.parametrize("command", _EXAMPLE.findall(VERBS["why"].examples))
def test_every_example_is_answered(command: str, shop: Shop) -> None:
    done = run(*shlex.split(command), "--kubeconfig", shop.kubeconfig, "--repo", shop.repo)
    assert done.code == 0, done.err
    assert done.out


def _line_of(text: str, part: str, after: str = "") -> int:
    lines = text.splitlines()
    start = next((at for at, line in enumerate(lines) if after in line), 0)
    return next(at for at, line in enumerate(lines) if at >= start and part in line) + 1
