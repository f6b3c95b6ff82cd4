"""Requests that no sane client sends: wrong methods, paths, forms and bodies."""

import json
import random
from typing import Any

from tests.conformance.apiserver.steps import Step
from tests.conformance.apiserver.subjects import Subject

_JSON = ("Content-Type", "application/json")


def odd_request(source: random.Random, subject: Subject, name: str, body: Any) -> Step:
    """Return one of them."""
    return source.choice(_requests(source, subject, name, body))


def _requests(source: random.Random, subject: Subject, name: str, body: Any) -> list[Step]:
    path, one = subject.path, f"{subject.path}/{subject.prefix}{name}"
    about = f"{subject.api_version} {subject.kind}/{name}"
    elsewhere = path.replace("/namespaces/{ns}", "") if subject.namespaced else f"{path}x"
    text = json.dumps(body)
    return [
        Step("PUT", path, (), body, (_JSON,)),
        Step("PATCH", path, (), body, (("Content-Type", "application/merge-patch+json"),)),
        Step("POST", one, (), body, (_JSON,)),
        Step("POST", elsewhere, (), body, (_JSON,)),
        Step("GET", f"{one}/odd"),
        Step("GET", f"{one}/scale"),
        Step("GET", f"{one}/status"),
        Step("PUT", f"{one}/scale", (), body, (_JSON,)),
        Step("POST", f"{one}/status", (), body, (_JSON,)),
        Step("DELETE", f"{one}/status"),
        Step("GET", path.rpartition("/")[0] + "/odds"),
        Step("GET", path, (), None, (("Accept", "text/html"),)),
        Step("GET", one, (), None, (("Accept", "application/xml"),), about),
        Step(
            "GET",
            path,
            (("labelSelector", "sequence={ns}"),),
            None,
            (("Accept", "text/html, application/json;q=0.5"),),
        ),
        Step("POST", path, (), body, (("Content-Type", "text/plain"),)),
        Step("POST", path, (), body, (), about),
        Step("PATCH", one, (), body, (_JSON,)),
        Step("PATCH", one, (), body, ()),
        Step("POST", path, (), "", (_JSON,)),
        Step("POST", path, (), "{", (_JSON,)),
        Step("POST", path, (), "[]", (_JSON,)),
        Step("POST", path, (), "null", (_JSON,)),
        Step("POST", path, (), '"text"', (_JSON,)),
        Step("POST", path, (), "{}", (_JSON,)),
        Step("POST", path, (), "a: b", (_JSON,)),
        Step("POST", path, (), text, (("Content-Type", "application/yaml"),), about),
        Step("PUT", one, (), "{}", (_JSON,)),
        Step("PUT", one, (), "[]", (_JSON,)),
        Step("POST", path, (), {**body, "kind": "Odd"}, (_JSON,)),
        Step("POST", path, (), {**body, "apiVersion": "odd.example.com/v1"}, (_JSON,)),
        Step("POST", path, (), {**body, "apiVersion": "v1", "kind": "ConfigMap"}, (_JSON,)),
        Step("POST", path, (), {**body, "kind": "", "apiVersion": ""}, (_JSON,), about),
        Step(
            "PATCH",
            one,
            (),
            {**body, "kind": "Odd"},
            (("Content-Type", "application/merge-patch+json"),),
            about,
        ),
        Step("PATCH", one, (), "{", (("Content-Type", "application/merge-patch+json"),), about),
        Step("PATCH", one, (), "[]", (("Content-Type", "application/merge-patch+json"),), about),
        Step("PATCH", one, (), "{}", (("Content-Type", "application/json-patch+json"),), about),
        Step("PATCH", one, (), "[1]", (("Content-Type", "application/json-patch+json"),), about),
        Step(
            "PATCH",
            one,
            (),
            "5",
            (("Content-Type", "application/strategic-merge-patch+json"),),
            about,
        ),
        Step(
            "PATCH",
            one,
            (),
            {"metadata": {"name": "z"}},
            (("Content-Type", "application/merge-patch+json"),),
            about,
        ),
        Step(
            "PATCH",
            one,
            (),
            {"metadata": {"namespace": "z"}},
            (("Content-Type", "application/merge-patch+json"),),
            about,
        ),
        Step(
            "PATCH",
            one,
            (),
            {"metadata": {"uid": "z"}},
            (("Content-Type", "application/merge-patch+json"),),
            about,
        ),
        Step("PATCH", one, (), {}, (("Content-Type", "application/merge-patch+json"),), about),
        Step(
            "PATCH",
            one,
            (("fieldManager", "m"),),
            "a: [",
            (("Content-Type", "application/apply-patch+yaml"),),
            about,
        ),
        Step(
            "PATCH",
            one,
            (("fieldManager", "m"),),
            "[]",
            (("Content-Type", "application/apply-patch+yaml"),),
            about,
        ),
        Step(
            "PATCH",
            one,
            (("fieldManager", "m"),),
            "{}",
            (("Content-Type", "application/apply-patch+yaml"),),
            about,
        ),
        Step(
            "PATCH",
            one,
            (("fieldManager", "x" * 130),),
            body,
            (("Content-Type", "application/apply-patch+yaml"),),
            about,
        ),
        Step(
            "PATCH",
            one,
            (("fieldManager", "m"),),
            text.replace("{", "{", 1),
            (("Content-Type", "application/apply-patch+yaml"),),
            about,
        ),
        Step("DELETE", one, (), "{", (_JSON,), about),
        Step("DELETE", one, (), {"kind": "Odd", "apiVersion": "v1"}, (_JSON,), about),
        Step(
            "DELETE",
            one,
            (),
            {"kind": "DeleteOptions", "apiVersion": "v1", "odd": 1},
            (_JSON,),
            about,
        ),
        Step(
            "DELETE",
            one,
            (),
            {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": "x"},
            (_JSON,),
            about,
        ),
        Step("DELETE", f"{path}/none-there"),
        Step(
            "POST",
            path,
            (),
            text[:-1] + ',"metadata":' + json.dumps(body["metadata"]) + "}",
            (_JSON,),
            about,
        ),
        Step(
            "POST",
            path,
            (("fieldValidation", "Strict"),),
            text[:-1] + ',"kind":"' + subject.kind + '"}',
            (_JSON,),
            about,
        ),
        Step("GET", path, (("watch", "true"), ("resourceVersion", "x"))),
        Step("GET", path, (("limit", "1"), ("continue", "odd"))),
        Step("HEAD", one),
        Step("OPTIONS", one),
    ]
