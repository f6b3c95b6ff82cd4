"""
Get, list and watch.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/endpoints/handlers/get.go GetResource, ListResource.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from kube_objects.label_selectors import Selector
from kube_objects.refs import KubeObject
from kube_sandbox import api_errors
from kube_sandbox.endpoints.list_options import validate_options
from kube_sandbox.endpoints.negotiation import Form, negotiate
from kube_sandbox.endpoints.pagination import Page, Scope, page
from kube_sandbox.endpoints.request_info import Query, Request
from kube_sandbox.endpoints.responses import Rendering, Response
from kube_sandbox.endpoints.stored_objects import StoredObjects
from kube_sandbox.registry.kinds import Served
from kube_sandbox.registry.selectable_fields import CustomFields
from kube_sandbox.registry.selectors import FieldSelector, parse_fields, parse_labels
from kube_sandbox.storage.records import Record
from kube_sandbox.storage.resource_version import (
    VersionOptions,
    parse_list_version,
    parse_version,
    require_version,
)

_SYNTAX = "invalid selector"


@dataclass(frozen=True, slots=True)
class Selected:
    """Which objects of a kind are meant."""

    scope: Scope
    labels: Selector
    fields: FieldSelector
    load: Callable[[Record], KubeObject]

    @property
    def is_all(self) -> bool:
        """Return whether nothing but their place is asked of objects."""
        return not self.labels.requirements and not self.fields.requirements

    def matches(self, record: Record) -> bool:
        """Return whether an object is meant."""
        scope = self.scope
        if scope.namespace and record.namespace != scope.namespace:
            return False
        if scope.name and record.name != scope.name:
            return False
        if self.labels.requirements and not self.labels.matches(record.labels):
            return False
        return not self.fields.requirements or self.fields.matches(
            record.namespace, record.name, lambda: self.load(record)
        )


class Reader:
    """Shows objects."""

    def __init__(self, stored: StoredObjects, clock: Callable[[], datetime]) -> None:
        self._stored = stored
        self._clock = clock

    def get(self, served: Served, request: Request) -> Response:
        """Show an object."""
        target = request.target
        rendering = self.rendering(served, request)
        version = request.query.get("resourceVersion")
        # Events are read from where they are stored, which has other words.
        parse = parse_list_version if served.bucket == "events" else parse_version
        require_version(self._stored.store, parse(version))
        record = self._stored.record(served, target.namespace, target.name)
        if record is None:
            raise api_errors.not_found(served.kind.group, served.plural, target.name)
        return rendering.record(record)

    def list(self, served: Served, request: Request) -> Response:
        """Show objects, or a page of them."""
        rendering = self.rendering(served, request)
        number_of(request.query.get("limit"))
        parse_labels(request.query.get("labelSelector"))
        try:
            selected = self.selected(served, request)
        except api_errors.StatusError as error:
            if not error.message.startswith(_SYNTAX):
                version_options_of(request.query)  # errors of these are reported first
            raise
        asked = version_options_of(request.query)
        if served.bucket == "events" and asked.resource_version == "0":
            asked = replace(asked, resource_version="")  # a real API server has no cache of them
        found = self.page(selected, asked)
        return rendering.many(found.records, list_metadata(found))

    def page(self, selected: Selected, asked: VersionOptions) -> Page:
        """Return the objects of a page."""
        matches = None if selected.is_all else selected.matches
        return page(self._stored.store, selected.scope, asked, matches)

    def selected(self, served: Served, request: Request) -> Selected:
        """Read which objects are meant; a name in the path is as good as one in a selector."""
        query, target = request.query, request.target
        labels = parse_labels(query.get("labelSelector"))
        text = query.get("fieldSelector")
        custom = CustomFields(served.namespaced, served.selectable) if served.is_custom else None
        fields = parse_fields(text, served.kind, custom=custom)
        name = target.name or fields.name or ""
        if target.name and fields.requirements and fields.name != target.name:
            raise api_errors.bad_request("fieldSelector metadata.name doesn't match requested name")
        is_single = bool(target.namespace) or not served.namespaced
        scope = Scope(served.bucket, target.namespace, name if is_single else "")
        return Selected(scope, labels, fields, lambda each: self._stored.load(served, each))

    def rendering(self, served: Served, request: Request, form: Form | None = None) -> Rendering:
        """Return how objects are to be shown."""
        is_list = not request.target.name and request.verb in ("list", "watch")
        form = form or negotiate(request.accept, is_custom=served.is_custom, is_list=is_list)
        include = request.query.get("includeObject")
        return Rendering(self._stored, served, form, include, self._clock)


def list_metadata(found: Page) -> KubeObject:
    """Return what is said of a page."""
    metadata: KubeObject = {"resourceVersion": str(found.version)}
    if found.token:
        metadata["continue"] = found.token
    if found.remaining is not None:
        metadata["remainingItemCount"] = found.remaining
    return metadata


def number_of(text: str) -> int:
    """Read a number, 0 if there is none."""
    try:
        return int(text) if text else 0
    except ValueError:
        message = f'strconv.ParseInt: parsing "{text}": invalid syntax'
        raise api_errors.bad_request(message) from None


def version_options_of(query: Query, *, watch: bool = False) -> VersionOptions:
    """Read what is asked of versions and pages."""
    number = number_of(query.get("limit"))
    return validate_options(
        VersionOptions(
            query.get("resourceVersion"),
            query.get("resourceVersionMatch"),
            number,
            query.get("continue"),
            query.flag("sendInitialEvents"),
            watch,
        )
    )
