"""Fields of live objects, traced back: over the example repository, and over cases made for it."""

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from kro_gitops.inspect.provenance.answer import OriginKind, Provenance
from kro_gitops.inspect.provenance.context import Case
from kro_gitops.inspect.provenance.git_location import Page
from kro_gitops.inspect.provenance.trace import trace
from kube_objects.paths import find, format_path, leaves
from tests.provenance_world import COMMIT, EDITED_AT, World, examples

LITERAL, EXPRESSION, STAMP = OriginKind.LITERAL, OriginKind.EXPRESSION, OriginKind.STAMP
MANIFEST, DEFAULT, SERVER = OriginKind.MANIFEST, OriginKind.DEFAULT, OriginKind.SERVER
MANAGER, ABSENT = OriginKind.MANAGER, OriginKind.ABSENT

WEBAPP, WORKERS = "rgds/webapp.yaml", "rgds/workers.yaml"
DATABASE, SHOP, TENANT = "rgds/database.yaml", "rgds/shop.yaml", "rgds/tenant.yaml"
FRONT, OUTLET = "instances/team-shop/front.yaml", "instances/team-shop/outlet.yaml"
DATA = "instances/team-data/warehouse.yaml"
APP = "spec.template.spec.containers[name=app]"

KIOSK = b"""\
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata:
  name: kiosk
spec:
  schema:
    apiVersion: v1alpha1
    kind: Kiosk
    types:
      Level: string | default="info"
      Shelf:
        label: string | required=true
        depth: integer | default=40
    spec:
      level: Level
      tags: '[]string'
      shelves: '[]Shelf'
      colours: '[]string'
      sizes: '[]string'
      limits:
        cpu: string | default="1"
        memory: string
      secret: string
      map: map[string]string
    status:
      hello: ${settings.metadata.name}
  resources:
    - id: settings
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata:
          name: ${schema.metadata.name}
          labels:
            app.kubernetes.io/managed-by: the-template
            written: by-hand
          annotations:
            a.b/c: here
        data:
          level: level=${schema.spec.level}, first=${schema.spec.tags[0]}
          app.properties: |
            colour=blue
          cpu: ${schema.spec.?limits.?cpu.orValue("2")}
          memory: ${schema.spec.?limits.?memory.orValue("1Gi")}
          picked: ${schema.spec.map["left"]}
          shelf: ${schema.spec.shelves.map(s, s.label).join("+")}
    - id: pods
      template:
        apiVersion: v1
        kind: Pod
        metadata:
          name: ${schema.metadata.name}
        spec:
          containers:
            - name: ${schema.metadata.name}-main
              image: main:1
              args: [serve, "--level", "${schema.spec.level}"]
              ports:
                - containerPort: 8080
                - containerPort: 9090
                  protocol: UDP
            - name: side
              image: side:1
          imagePullSecrets: ${[{"name":"pull"}]}
    - id: grid
      forEach:
        - colour: ${schema.spec.colours}
        - size: ${schema.spec.sizes}
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata:
          name: ${schema.metadata.name}-${colour}-${size}
        data:
          colour: ${colour}
          size: ${size}
    - id: secret
      template:
        apiVersion: v1
        kind: Secret
        metadata:
          name: ${schema.metadata.name}
        stringData:
          plain: in-the-template
          computed: prefix-${schema.spec.secret}
        data:
          encoded: aGVsbG8=
"""
CORNER = b"""\
apiVersion: v1
kind: List
items:
  - apiVersion: kro.run/v1alpha1
    kind: Kiosk
    metadata:
      name: corner
      namespace: town
      labels: {team: sales, kro.run/no: "x"}
      annotations:
        argocd.argoproj.io/tracking-id: shop:kro.run/Kiosk:town/corner
    spec:
      tags: [first, second]
      shelves:
        - label: top
        - {label: bottom, depth: 10}
      colours: [red, blue]
      sizes: [s, m, l]
      limits:
        memory: 2Gi
      secret: hunter2
      map: {left: "1", right: "2"}
"""


@pytest.fixture(scope="module")
def repo() -> World:
    return examples()


def kiosk(**kwargs: Any) -> World:
    return World({"kiosk.yaml": KIOSK, "corner.yaml": CORNER}, **kwargs)


def line_of(text: bytes, part: str) -> int:
    return next(at for at, line in enumerate(text.decode().splitlines(), 1) if part in line)


def ends(found: Provenance) -> set[str]:
    """Return where the ways end: lines, and what is no line."""
    behind = [each.found for each in found.references if each.found is not None]
    if behind:
        return {end for each in behind for end in ends(each)}
    return {place.file for place in found.places} or {str(found.kind)}


# Object, field, how it came about, the line of that, and where the ways end.
TABLE = [
    ("Deployment/front", "spec.replicas", EXPRESSION, f"{WEBAPP}:47:21", {f"{FRONT}:8:13"}),
    ("Deployment/admin", "spec.replicas", EXPRESSION, f"{WEBAPP}:47:21", {f"{WEBAPP}:12:17"}),
    ("Deployment/front", "metadata.name", EXPRESSION, f"{WEBAPP}:42:17", {f"{FRONT}:4:9"}),
    ("Deployment/front", "kind", LITERAL, f"{WEBAPP}:40:15", None),
    ("Deployment/front", "apiVersion", LITERAL, f"{WEBAPP}:39:21", None),
    ("Deployment/front", f"{APP}.name", LITERAL, f"{WEBAPP}:57:25", None),
    ("Deployment/front", f"{APP}.image", EXPRESSION, f"{WEBAPP}:58:26", {f"{FRONT}:7:10"}),
    (
        *("Deployment/front", f"{APP}.ports[0].containerPort", EXPRESSION),
        *(f"{WEBAPP}:60:38", {f"{WEBAPP}:13:13"}),
    ),
    (
        *("Deployment/front", f"{APP}.env[name=LOG_LEVEL].value", EXPRESSION),
        *(f"{WEBAPP}:62:21", {f"{FRONT}:10:16"}),
    ),
    (
        *("Deployment/front", f"{APP}.env[name=SHOP_CURRENCY].value", EXPRESSION),
        *(f"{WEBAPP}:62:21", {f"{FRONT}:11:20"}),
    ),
    ("Deployment/front", "metadata.namespace", STAMP, None, {f"{FRONT}:5:14"}),
    ("Deployment/front", "metadata.labels.kro.run/owned", STAMP, None, None),
    ("Deployment/front", "metadata.labels.kro.run/node-id", STAMP, None, None),
    ("Deployment/front", "metadata.labels.gitops.kro.run/desired-hash", STAMP, None, None),
    ("Deployment/front", "metadata.annotations.gitops.kro.run/path", STAMP, None, {"stamp"}),
    ("Deployment/front", "metadata.annotations.internal.kro.run/apply-order", STAMP, None, None),
    ("Deployment/front", "metadata.ownerReferences[0].name", STAMP, None, None),
    ("Deployment/front", "metadata.uid", SERVER, None, None),
    ("Deployment/front", "metadata.resourceVersion", SERVER, None, None),
    ("Deployment/front", "status.readyReplicas", SERVER, None, None),
    ("Service/front", "spec.selector.app", EXPRESSION, f"{WEBAPP}:70:21", {f"{FRONT}:4:9"}),
    ("Service/front", "spec.ports[0].port", LITERAL, f"{WEBAPP}:72:21", None),
    ("Service/front", "spec.ports[port=80].targetPort", EXPRESSION, f"{WEBAPP}:73:27", None),
    ("Ingress/front", "spec.rules[0].host", EXPRESSION, f"{WEBAPP}:84:21", {f"{FRONT}:14:11"}),
    (
        *("Ingress/front", "spec.rules[0].http.paths[0].backend.service.name", EXPRESSION),
        *(f"{WEBAPP}:91:31", {f"{FRONT}:4:9"}),
    ),
    ("Ingress/front", "spec.rules[0].http.paths[0].path", LITERAL, f"{WEBAPP}:87:27", None),
    (
        *("Deployment/imports-orders", "spec.template.spec.containers[0].args[1]", EXPRESSION),
        *(f"{WORKERS}:51:38", {f"{DATA}:19:13"}),
    ),
    (
        *("Deployment/imports-returns", "spec.template.spec.containers[0].args[1]", EXPRESSION),
        *(f"{WORKERS}:51:38", {f"{DATA}:21:13"}),
    ),
    (
        *("Deployment/imports-returns", "spec.template.spec.containers[0].args[3]", EXPRESSION),
        *(f"{WORKERS}:51:72", {f"{WORKERS}:13:22"}),
    ),
    (
        *("Deployment/imports-orders", "spec.template.spec.containers[0].args[0]", LITERAL),
        *(f"{WORKERS}:51:26", None),
    ),
    (
        *("Deployment/imports-orders", "metadata.name", EXPRESSION),
        *(f"{WORKERS}:37:17", {f"{DATA}:14:9", f"{DATA}:19:13"}),
    ),
    (
        *("ConfigMap/imports-settings", "data.orders.concurrency", EXPRESSION),
        *(f"{WORKERS}:27:15", {f"{DATA}:20:20"}),
    ),
    (
        *("StatefulSet/warehouse", "spec.template.spec.containers[0].image", EXPRESSION),
        *(f"{DATABASE}:71:26", {f"{DATA}:7:11", f"{DATABASE}:13:16"}),
    ),
    (
        *("StatefulSet/warehouse", "spec.template.spec.volumes[name=data].name", LITERAL),
        *(f"{DATABASE}:79:25", None),
    ),
    (
        *("StatefulSet/warehouse", "spec.template.spec.containers[0].volumeMounts[0].mountPath"),
        *(LITERAL, f"{DATABASE}:77:34", None),
    ),
    (
        *("PersistentVolumeClaim/outlet-db-data", "spec.resources.requests.storage", EXPRESSION),
        *(f"{DATABASE}:49:24", {f"{OUTLET}:9:9"}),
    ),
    (
        *("Deployment/outlet", "spec.template.spec.containers[0].image", EXPRESSION),
        *(f"{WEBAPP}:58:26", {f"{OUTLET}:7:10"}),
    ),
    ("WebApp/outlet", "spec.replicas", EXPRESSION, f"{SHOP}:37:22", {f"{OUTLET}:9:9"}),
    ("WebApp/outlet", "spec.port", DEFAULT, f"{WEBAPP}:13:13", None),
    ("WebApp/outlet", "spec.ingress.enabled", LITERAL, f"{SHOP}:42:22", None),
    (
        *("ConfigMap/data-settings", "data.domain", EXPRESSION),
        *(f"{TENANT}:32:19", {f"{DATA}:29:9", "api-server"}),
    ),
    ("ConfigMap/data-settings", "data.features", EXPRESSION, f"{TENANT}:33:21", None),
    ("WebApp/front", "spec.replicas", MANIFEST, f"{FRONT}:8:13", None),
    ("WebApp/front", "spec.ingress", MANIFEST, f"{FRONT}:12:3", None),
    ("WebApp/front", "spec.port", DEFAULT, f"{WEBAPP}:13:13", None),
    ("WebApp/admin", "spec.ingress.enabled", DEFAULT, f"{WEBAPP}:16:18", None),
    ("WebApp/front", "metadata.name", MANIFEST, f"{FRONT}:4:9", None),
    ("WebApp/front", "metadata.annotations.gitops.kro.run/revision", STAMP, None, None),
    ("Workers/imports", "spec.queues[1].concurrency", DEFAULT, f"{WORKERS}:13:22", None),
    ("Workers/imports", "spec.queues[name=orders].concurrency", MANIFEST, f"{DATA}:20:20", None),
    (
        *("ResourceGraphDefinition/webapp", "spec.resources[0].readyWhen[0]", MANIFEST),
        *(f"{WEBAPP}:37:11", None),
    ),
    (
        *("ResourceGraphDefinition/webapp", "spec.resources[id=service].template.spec.ports"),
        *(MANIFEST, f"{WEBAPP}:71:11", None),
    ),
]


@pytest.mark.parametrize(("name", "words", "kind", "place", "last"), TABLE)
def test_where_a_field_of_the_examples_comes_from(
    name: str, words: str, kind: OriginKind, place: str | None, last: set[str] | None, repo: World
) -> None:
    found = repo.ask(name, words)
    assert found.kind is kind
    assert [each.file for each in found.places] == ([place] if place else [])
    if last is not None:
        assert ends(found) == last
    assert found.drift == ()


def test_every_field_of_every_child_of_the_examples_is_explained(repo: World) -> None:
    explained = 0
    for case in repo.cases.values():
        if case.parent is None:
            continue
        for path, value in leaves(case.object):
            if path[0] == "status" or path[:2] == ("metadata", "managedFields"):
                continue
            _assert_explained(case, path, value)
            explained += 1
    assert explained > 500


def _assert_explained(case: Case, path: Any, value: Any) -> None:
    found = trace(case, path)
    where = f"{case.ref} {format_path(path)}"
    assert found.kind in (LITERAL, EXPRESSION, STAMP, SERVER, DEFAULT), where
    assert (found.drift, found.notes) == ((), ()), where
    if found.kind is SERVER:
        assert path[1] in ("uid", "resourceVersion"), where
    if found.kind is LITERAL:
        assert case.parent is not None
        assert case.parent.instance.own is not None
        definition = case.parent.instance.own.page.object
        assert find(definition, found.places[0].path) == value, where
    if found.kind is EXPRESSION:
        assert found.places[0].line is not None, where
        # Each expression of the examples reads something, but for what is written out in it.
        assert "${" in found.expression, where
        assert found.references, where


# Lists, text around expressions, collections


KIOSK_TABLE = [
    ("ConfigMap/corner", "data.level", EXPRESSION, "level: level=", {"kiosk.yaml:10:14"}),
    ("ConfigMap/corner", "data.app.properties", LITERAL, "app.properties", None),
    ("ConfigMap/corner", 'data["app.properties"]', LITERAL, "app.properties", None),
    ("ConfigMap/corner", "data.cpu", EXPRESSION, "cpu: ${", {"kiosk.yaml:21:14"}),
    ("ConfigMap/corner", "data.memory", EXPRESSION, "memory: ${", {"corner.yaml:20:17"}),
    ("ConfigMap/corner", "data.picked", EXPRESSION, "picked:", {"corner.yaml:22:19"}),
    ("ConfigMap/corner", "data.shelf", EXPRESSION, "shelf:", {"corner.yaml:14:7"}),
    ("ConfigMap/corner", "metadata.labels.written", LITERAL, "written:", None),
    ("ConfigMap/corner", "metadata.annotations.a.b/c", LITERAL, "a.b/c", None),
    ("Pod/corner", "spec.containers[1].image", LITERAL, "image: side:1", None),
    ("Pod/corner", "spec.containers[name=corner-main].image", LITERAL, "image: main:1", None),
    ("Pod/corner", "spec.containers[0].args[2]", EXPRESSION, "args:", {"kiosk.yaml:10:14"}),
    ("Pod/corner", "spec.containers[0].ports[1].protocol", LITERAL, "protocol: UDP", None),
    ("Pod/corner", "spec.imagePullSecrets[0].name", EXPRESSION, "imagePullSecrets:", None),
    (
        "ConfigMap/corner-blue-m",
        "data.colour",
        EXPRESSION,
        "colour: ${colour}",
        {"corner.yaml:17:22"},
    ),
    ("ConfigMap/corner-blue-m", "data.size", EXPRESSION, "size: ${size}", {"corner.yaml:18:18"}),
    ("ConfigMap/corner-red-l", "data.size", EXPRESSION, "size: ${size}", {"corner.yaml:18:21"}),
    ("Secret/corner", "data.encoded", LITERAL, "encoded:", None),
    ("Secret/corner", "data.plain", LITERAL, "plain:", None),
    ("Secret/corner", "data.computed", EXPRESSION, "computed:", {"corner.yaml:21:15"}),
]


@pytest.mark.parametrize(("name", "words", "kind", "part", "last"), KIOSK_TABLE)
def test_where_a_field_of_the_kiosk_comes_from(
    name: str, words: str, kind: OriginKind, part: str, last: set[str] | None
) -> None:
    found = kiosk().ask(name, words)
    assert found.kind is kind
    assert found.places[0].line is not None
    assert found.places[0].line.number == line_of(KIOSK, part)
    assert found.drift == ()
    if last is not None:
        assert last <= ends(found)


def test_our_mark_lies_over_a_template() -> None:
    found = kiosk().ask("ConfigMap/corner", "metadata.labels.app.kubernetes.io/managed-by")
    assert (found.kind, found.value) == (STAMP, '"kro"')


def test_labels_flow_and_tracking_ids_are_copied() -> None:
    world = kiosk()
    flowing = world.ask("ConfigMap/corner", "metadata.labels.team")
    assert flowing.text == "set by the controller: flows from the labels of the instance"
    assert ends(flowing) == {"corner.yaml:9:22"}
    copied = world.ask("Pod/corner", 'metadata.annotations["argocd.argoproj.io/tracking-id"]')
    assert copied.kind is STAMP
    assert ends(copied) == {"corner.yaml:11:41"}


def test_an_item_put_before_others_does_not_mislead() -> None:
    world = kiosk()
    pod = world.cases["Pod/corner"].object
    pod["spec"]["containers"].insert(0, {"name": "injected", "image": "proxy:1"})
    world.take("Pod/corner", ("spec", "restartPolicy"), "Always")
    assert world.ask("Pod/corner", "spec.containers[2].image").kind is LITERAL
    injected = world.ask("Pod/corner", "spec.containers[0].image")
    assert injected.kind is SERVER
    assert not injected.places


def test_a_list_without_keys_says_that_position_is_a_guess() -> None:
    world = kiosk()
    world.cases["Pod/corner"].object["spec"]["containers"][0]["args"].append("--more")
    found = world.ask("Pod/corner", "spec.containers[0].args[0]")
    assert found.kind is LITERAL
    assert found.notes == (
        "spec.containers[0].args: items of this list have no keys, and there are 4 where the "
        "template has 3; they were matched by position",
    )


# Drift


def test_a_changed_field_names_who_and_what() -> None:
    world = kiosk()
    world.take("ConfigMap/corner", ("data", "cpu"), "16")
    found = world.ask("ConfigMap/corner", "data.cpu")
    (drift,) = found.drift
    assert (found.kind, drift.desired, drift.live) == (EXPRESSION, '"1"', '"16"')
    (by,) = drift.by
    assert (by.manager, by.operation, by.time) == ("kubectl-edit", "Update", EDITED_AT)
    assert not drift.is_guess


def test_a_removed_field_is_a_guess() -> None:
    world = kiosk()
    world.take("ConfigMap/corner", ("data", "other"), "new", "janitor")
    world.take("ConfigMap/corner", ("data", "picked"), None)
    found = world.ask("ConfigMap/corner", "data.picked")
    (drift,) = found.drift
    assert (found.value, drift.desired, drift.live) == ("nothing", '"1"', "nothing")
    assert drift.is_guess
    assert [each.manager for each in drift.by] == ["janitor"]


def test_an_item_that_was_replaced_by_another() -> None:
    world = kiosk()
    pod = world.cases["Pod/corner"].object
    world.take("Pod/corner", ("spec", "containers", 1, "image"), "side:1")
    pod["spec"]["containers"][1] = {"name": "intruder", "image": "side:2"}
    found = world.ask("Pod/corner", "spec.containers[name=side].image")
    assert (found.kind, found.value) == (LITERAL, "nothing")
    (drift,) = found.drift
    assert (drift.desired, drift.live) == ('"side:1"', "nothing")


def test_a_field_within_a_keyed_item() -> None:
    world = kiosk()
    world.take("Pod/corner", ("spec", "containers", 1, "image"), "evil:1")
    assert world.ask("Pod/corner", "spec.containers[name=side].image").drift
    assert not world.ask("Pod/corner", "spec.containers[0].image").drift
    (drift,) = world.ask("Pod/corner", "spec.containers").drift
    assert format_path(drift.path) == "spec.containers[1].image"


def test_what_others_added_is_no_drift() -> None:
    world = kiosk()
    world.take("ConfigMap/corner", ("data", "extra"), "x", "kubectl-patch")
    found = world.ask("ConfigMap/corner", "data.extra")
    assert (found.kind, found.drift) == (MANAGER, ())
    assert found.text == "set by kubectl-patch"


def test_a_value_that_nobody_took_but_that_differs_is_noted() -> None:
    world = kiosk()
    world.cases["ConfigMap/corner"].object["data"]["cpu"] = "1000m"
    found = world.ask("ConfigMap/corner", "data.cpu")
    assert found.drift == ()
    assert found.notes[0].startswith('the template asks for "1": the API server or a webhook')


def test_an_instance_that_was_edited_on_the_cluster() -> None:
    world = kiosk()
    world.take("Kiosk/corner", ("spec", "secret"), "other")
    found = world.ask("Kiosk/corner", "spec.secret")
    (drift,) = found.drift
    assert (found.kind, drift.desired, drift.live) == (MANIFEST, '"hunter2"', '"other"')


# Secrets


@pytest.mark.parametrize("words", ["data.plain", "data.computed", "data.encoded", "data"])
def test_nothing_of_a_secret_is_shown(words: str) -> None:
    world = kiosk()
    world.take("Secret/corner", ("data", "computed"), "eHl6enk=")
    told = str(world.ask("Secret/corner", words).to_json())
    for secret in ("hunter2", "in-the-template", "prefix-", "aGVsbG8", "eHl6", "aW4t", "cHJlZ"):
        assert secret not in told
    assert "hash:" in told


def test_hashes_of_secrets_cannot_be_compared_with_those_of_guesses() -> None:
    world = kiosk()
    case = world.cases["Secret/corner"]
    value = case.object["data"]["plain"]
    values = {
        trace(replace(case, salt=salt), ("data", "plain")).value for salt in (b"one", b"other", b"")
    }
    assert len(values) == 3
    assert "hidden" in values
    assert hashlib.sha256(value.encode()).hexdigest()[:8] not in str(values)


def test_equal_secrets_have_equal_hashes() -> None:
    world = kiosk()
    world.take("Secret/corner", ("data", "plain"), "aW4tdGhlLXRlbXBsYXRl", "kubectl-edit")
    (drift,) = world.ask("Secret/corner", "data.plain").drift
    assert drift.desired == drift.live


# What is not known


def test_without_texts_the_answer_names_file_and_commit() -> None:
    world = kiosk(has_texts=False)
    found = world.ask("ConfigMap/corner", "data.memory")
    (place,) = found.places
    assert (place.file, place.line) == ("kiosk.yaml", None)
    assert place.written is not None
    assert (place.written.source, place.written.revision) == ("flux/platform", COMMIT)
    assert ends(found) == {"corner.yaml"}
    assert world.ask("Kiosk/corner", "spec.limits.cpu").kind is DEFAULT


def test_a_definition_that_does_not_compile_still_shows_the_template() -> None:
    world = kiosk()
    case = world.cases["ConfigMap/corner"]
    assert case.parent is not None
    own = case.parent.instance.own
    assert own is not None
    blind = Case(case.parent.instance.page, None, type(own)(own.page))
    found = trace(Case(case.page, type(case.parent)(case.parent.node, blind)), ("data", "memory"))
    assert found.kind is EXPRESSION
    assert found.notes == ("the expression cannot be evaluated with what was read",)
    assert found.references[0].text == "schema.spec.limits.memory"


def test_the_status_of_an_instance() -> None:
    world = kiosk()
    world.cases["Kiosk/corner"].object["status"] = {"hello": "corner", "state": "ACTIVE"}
    found = world.ask("Kiosk/corner", "status.hello")
    assert found.expression == "${settings.metadata.name}"
    assert found.places[0].file == f"kiosk.yaml:{line_of(KIOSK, 'hello:')}:14"
    assert ends(found) == {"corner.yaml:7:13"}
    assert world.ask("Kiosk/corner", "status.state").places == ()


def test_an_object_that_nobody_of_ours_made() -> None:
    obj = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "x",
            "managedFields": [
                {"manager": "helm", "operation": "Update", "fieldsV1": {"f:data": {"f:a": {}}}}
            ],
        },
        "data": {"a": "1", "b": "2"},
    }
    assert trace(Case(Page(obj)), ("data", "a")).text == "set by helm"
    assert trace(Case(Page(obj)), ("data", "b")).kind is SERVER
    assert trace(Case(Page(obj)), ("data", "c")).kind is ABSENT
