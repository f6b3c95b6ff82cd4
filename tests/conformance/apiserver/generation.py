"""
A seed → a sequence of requests.

A sequence is about a few kinds and a few names, so that requests meet what earlier ones left.
Nothing is looked up: whether a request is fit to be carried out is for both servers to say.
"""

import random
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.conformance.apiserver.generated_bodies import Bodies
from tests.conformance.apiserver.oddities import odd_request
from tests.conformance.apiserver.steps import Step
from tests.conformance.apiserver.subjects import Subject, definition_subjects, subjects

if TYPE_CHECKING:
    from collections.abc import Callable

MANAGERS = ("one", "two", "three")
_APPLY = "application/apply-patch+yaml"
_JSON = "application/json-patch+json"
_MERGE = "application/merge-patch+json"
_STRATEGIC = "application/strategic-merge-patch+json"
_FORMS = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json",
)
_SELECTORS = ("tier=web", "tier!=web", "tier", "!tier", "tier in (web,db),x", "tier notin (db)")
_BAD_SELECTORS = ("tier=", "a=b=c", "tier in", "(x)", "Bad Key=x", "x in ()")

_SETTLING = 0.4  # seconds until what a definition says is served

Pairs = list[tuple[str, str]]


class Generator:
    """Makes the steps of one sequence."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._subjects = self._random.sample(subjects(), 2)
        self._bodies = Bodies(self._random)
        self._generated = 0
        self._verbs: tuple[tuple[int, Callable[[Subject, str], Step]], ...] = (
            (14, self._create),
            (4, self._get),
            (7, self._list),
            (20, self._apply),
            (12, self._update),
            (14, self._patch),
            (8, self._status),
            (4, self._scale),
            (9, self._delete),
            (2, self._delete_many),
            (4, self._odd),
        )

    @property
    def kinds(self) -> list[Subject]:
        """Return what the sequence is about."""
        return self._subjects

    def steps(self, count: int) -> list[Step]:
        """Return as many steps; the first makes an object."""
        first = self._subjects[0]
        name = "" if first.kind == "CustomResourceDefinition" else "a"
        return [self._create(first, name), *(self._step() for _ in range(count - 1))]

    def _step(self) -> Step:
        subject = self._random.choice(self._subjects)
        name = self._random.choice(("a", "a", "a", "b", "c-1"))
        weights = [weight for weight, _ in self._verbs]
        (_, make), *_ = self._random.choices(self._verbs, weights)
        return make(subject, name)

    def _chance(self, part: float) -> bool:
        return self._random.random() < part

    # Reading

    def _get(self, subject: Subject, name: str) -> Step:
        query: Pairs = []
        if self._chance(0.1):
            # A version that is yet to come is waited for, which takes long.
            versions = ("0", "$version", "x", "99999999" if self._chance(0.1) else "0")
            query.append(("resourceVersion", self._random.choice(versions)))
        part = self._part(subject, 0.15)
        path = _at(subject, name, part)
        return Step("GET", path, tuple(query), None, self._form(0.2), _about(subject, name))

    def _list(self, subject: Subject, _: str) -> Step:
        query: Pairs = []
        if not subject.namespaced:
            query.append(("labelSelector", "sequence={ns}"))
        elif self._chance(0.35):
            bad = self._chance(0.15)
            query.append(
                ("labelSelector", self._random.choice(_BAD_SELECTORS if bad else _SELECTORS))
            )
        if self._chance(0.2):
            query.append(("fieldSelector", self._random.choice(self._field_selectors(subject))))
        if self._chance(0.3):
            query.append(("limit", self._random.choice(("1", "2", "1", "0", "x", "-1"))))
        if self._chance(0.15):
            query.append(("continue", "$continue"))
        if self._chance(0.1):
            query.append(("resourceVersion", self._random.choice(("0", "$listed", "x"))))
        if self._chance(0.05):
            query.append(
                ("resourceVersionMatch", self._random.choice(("Exact", "NotOlderThan", "Odd")))
            )
        return Step("GET", subject.path, tuple(query), None, self._form(0.35))

    def _field_selectors(self, subject: Subject) -> tuple[str, ...]:
        common = ("metadata.name=a", "metadata.name!=a", "metadata.name=a,metadata.name!=b")
        more = {
            "Pod": ("spec.nodeName=node", "status.phase!=Running", "spec.restartPolicy=Always"),
            "Event": ("involvedObject.name=a", "reason=R", "type!=Normal"),
            "Secret": ("type=Opaque",),
            "Job": ("status.successful=0",),
            "Widget": ("spec.mode=fast", "spec.size=3"),
            "Namespace": ("status.phase=Active",),
        }
        odd = ("spec.odd=x", "metadata.name", "metadata.namespace={ns}", "metadata.labels=x")
        return (*common, *more.get(subject.kind, ()), self._random.choice(odd))

    def _form(self, part: float) -> tuple[tuple[str, str], ...]:
        return (("Accept", self._random.choice(_FORMS)),) if self._chance(part) else ()

    def _part(self, subject: Subject, part: float) -> str:
        if not self._chance(part):
            return ""
        parts = ["/status"] if subject.has_status else []
        parts += ["/scale"] if subject.has_scale else []
        return self._random.choice(parts) if parts else ""

    # Writing

    def _options(self, *, is_apply: bool = False, is_patch: bool = False) -> Pairs:
        query: Pairs = []
        if is_apply:
            if not self._chance(0.02):
                query.append(("fieldManager", self._random.choice(MANAGERS)))
            if self._chance(0.4):
                query.append(("force", self._random.choice(("true", "true", "false"))))
        elif self._chance(0.4):
            query.append(("fieldManager", self._random.choice((*MANAGERS, "four"))))
        if is_patch and self._chance(0.03):
            query.append(("force", "true"))
        if self._chance(0.07):
            query.append(("dryRun", "All" if not self._chance(0.1) else "Some"))
        if self._chance(0.25):
            values = (
                "Strict",
                "Warn",
                "Ignore",
                "Strict",
                "Odd" if self._chance(0.1) else "Strict",
            )
            query.append(("fieldValidation", self._random.choice(values)))
        return query

    def _create(self, subject: Subject, name: str) -> Step:
        body = self._bodies.new(subject, name)
        if self._chance(0.05):
            put_metadata(body, "resourceVersion", self._random.choice(("$version", "5", "")))
        if self._chance(0.05):
            del body["metadata"]["name"]
            self._generated += 1  # so that names with random ends stay in order
            body["metadata"]["generateName"] = f"{subject.prefix}{name}{self._generated}-g-"
        return Step(
            "POST",
            subject.path,
            tuple(self._options()),
            body,
            (*self._form(0.05), ("Content-Type", "application/json")),
            _about(subject, name),
        )

    def _apply(self, subject: Subject, name: str, part: str = "") -> Step:
        body = self._bodies.partial(subject, name, part)
        query = self._options(is_apply=True)
        headers = (("Content-Type", _APPLY),)
        path = _at(subject, name, part)
        return Step("PATCH", path, tuple(query), body, headers, _about(subject, name))

    def _update(self, subject: Subject, name: str, part: str = "") -> Step:
        edits = self._bodies.edits(subject, part)
        version = self._random.choice(("$version",) * 5 + ("$stale", "$drop", "0", "x"))
        if version != "$version":
            edits.append(("metadata/resourceVersion", version))
        if self._chance(0.05):
            edits.append(("metadata/uid", self._random.choice(("$drop", "$uid", "other"))))
        if self._chance(0.05):
            values: tuple[Any, ...] = ([], [{}], None, "$drop")
            value = self._random.choice(values)
            edits.append(("metadata/managedFields", value))
        body = {"$live": edits, "otherwise": self._bodies.new(subject, name)}
        headers = (("Content-Type", "application/json"),)
        path = _at(subject, name, part)
        return Step("PUT", path, tuple(self._options()), body, headers, _about(subject, name))

    def _patch(self, subject: Subject, name: str, part: str = "") -> Step:
        sort = self._random.choice((_JSON, _MERGE, _MERGE, _STRATEGIC))
        if sort == _JSON:
            body: Any = self._bodies.operations(subject, part)
        else:
            body = self._bodies.changes(subject, part, strategic=sort == _STRATEGIC)
        query = self._options(is_patch=True)
        headers = (("Content-Type", sort),)
        path = _at(subject, name, part)
        return Step("PATCH", path, tuple(query), body, headers, _about(subject, name))

    def _status(self, subject: Subject, name: str) -> Step:
        make = self._random.choice((self._apply, self._update, self._patch, self._patch))
        return make(subject, name, "/status" if subject.has_status or self._chance(0.1) else "")

    def _scale(self, subject: Subject, name: str) -> Step:
        if not subject.has_scale:
            return self._patch(subject, name)
        replicas = self._random.choice((0, 1, 3, 3, -1, "x"))
        path, about = _at(subject, name, "/scale"), _about(subject, name)
        if self._chance(0.4):
            body: Any = {"spec": {"replicas": replicas}}
            sort = self._random.choice((_MERGE, _MERGE, _STRATEGIC, _APPLY))
            if sort == _APPLY:
                body |= {
                    "apiVersion": "autoscaling/v1",
                    "kind": "Scale",
                    "metadata": {"name": name},
                }
            if sort == _MERGE and self._chance(0.3):
                sort = _JSON
                body = [{"op": "replace", "path": "/spec/replicas", "value": replicas}]
            query = self._options(is_apply=sort == _APPLY)
            return Step("PATCH", path, tuple(query), body, (("Content-Type", sort),), about)
        body = {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {"name": subject.prefix + name, "namespace": "{ns}"},
            "spec": {"replicas": replicas},
        }
        if self._chance(0.3):
            put_metadata(body, "resourceVersion", self._random.choice(("$version", "$stale")))
        if self._chance(0.1):
            put_metadata(body, "name", "other")
        headers = (("Content-Type", "application/json"),)
        return Step("PUT", path, tuple(self._options()), body, headers, about)

    # Deleting

    def _delete_options(self) -> Any:
        body: dict[str, Any] = {}
        if self._chance(0.25):
            body["propagationPolicy"] = self._random.choice(
                ("Foreground", "Background", "Orphan", "Odd" if self._chance(0.3) else "Background")
            )
        if self._chance(0.1):
            body["orphanDependents"] = self._random.choice((True, False))
        if self._chance(0.2):
            key = self._random.choice(("uid", "resourceVersion"))
            good = "$uid" if key == "uid" else "$version"
            body["preconditions"] = {key: good if self._chance(0.5) else "5"}
        if self._chance(0.2):
            body["gracePeriodSeconds"] = self._random.choice((0, 1, 100, -1))
        if self._chance(0.1):
            body["dryRun"] = ["All"]
        return body

    def _delete(self, subject: Subject, name: str) -> Step:
        path, about = _at(subject, name, ""), _about(subject, name)
        if self._chance(0.5):
            query: Pairs = []
            if self._chance(0.3):
                query.append(("propagationPolicy", self._random.choice(("Foreground", "Orphan"))))
            if self._chance(0.1):
                query.append(("gracePeriodSeconds", self._random.choice(("0", "5", "x"))))
            if self._chance(0.1):
                query.append(("dryRun", "All"))
            return Step("DELETE", path, tuple(query), None, self._form(0.05), about)
        body = {"kind": "DeleteOptions", "apiVersion": "v1", **self._delete_options()}
        if self._chance(0.1):
            body = {key: value for key, value in body.items() if key not in ("kind", "apiVersion")}
        headers = (("Content-Type", "application/json"),)
        return Step("DELETE", path, (), body, headers, about)

    def _delete_many(self, subject: Subject, _: str) -> Step:
        query: Pairs = []
        if not subject.namespaced:
            query.append(("labelSelector", "sequence={ns}"))
        elif self._chance(0.4):
            query.append(("labelSelector", self._random.choice(_SELECTORS)))
        elif self._chance(0.3):
            query.append(("fieldSelector", self._random.choice(self._field_selectors(subject))))
        if self._chance(0.2):
            query.append(("dryRun", "All"))
        if self._chance(0.1):
            query.append(("limit", "1"))
        return Step("DELETE", subject.path, tuple(query), None, ())

    def _odd(self, subject: Subject, name: str) -> Step:
        body = deepcopy(self._bodies.new(subject, name))
        return odd_request(self._random, subject, name, body)


class DefinitionGenerator(Generator):
    """
    Makes sequences in which the kinds themselves come, change and go.

    They are not watched: a definition's status is written in as many steps as there are controllers
    in a real API server, and watches of a kind end when it changes.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._subjects = list(definition_subjects())

    @property
    def kinds(self) -> list[Subject]:
        """Return what is to be watched: nothing."""
        return []

    def steps(self, count: int) -> list[Step]:
        """Return as many steps; the first defines a kind."""
        steps = super().steps(count)
        return [replace(each, pause=_SETTLING) if _defines(each) else each for each in steps]

    def _step(self) -> Step:
        weights = (0.25, 0.45, 0.3)
        (subject,) = self._random.choices(self._subjects, weights)
        weights_of_verbs = [weight for weight, _ in self._verbs]
        (_, make), *_ = self._random.choices(self._verbs, weights_of_verbs)
        name = self._random.choice(("a", "a", "b"))
        return make(subject, "" if subject is self._subjects[0] else name)


def _defines(step: Step) -> bool:
    return step.method != "GET" and "/customresourcedefinitions" in step.path


def put_metadata(body: Any, key: str, value: Any) -> None:
    """Set a field of the metadata of an object, if it has any."""
    if isinstance(body.get("metadata"), dict):
        body["metadata"][key] = value


def _at(subject: Subject, name: str, part: str) -> str:
    return f"{subject.path}/{subject.prefix}{name}{part}"


def _about(subject: Subject, name: str) -> str:
    return f"{subject.api_version} {subject.kind}/{name}"
