"""
Reviews: requests about permissions, identities and tokens that are sent as objects.

Each review takes the object that was sent and returns the same with an answer in its status.
Nothing is stored. What stands in `metadata` is kept, for managed fields are recorded elsewhere.

Follows kubernetes 1.35 pkg/registry/authorization/subjectaccessreview/rest.go REST.Create;
pkg/registry/authorization/selfsubjectrulesreview/rest.go REST.Create;
pkg/registry/authentication/tokenreview/storage.go REST.Create;
pkg/registry/authentication/selfsubjectreview/rest.go REST.Create;
pkg/apis/authorization/validation/validation.go ValidateSubjectAccessReviewSpec.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kube_objects.refs import KubeObject
from kube_objects.times import format_time
from kube_sandbox import api_errors
from kube_sandbox.authentication.authenticator import Authenticator
from kube_sandbox.authentication.user_info import UserInfo
from kube_sandbox.authorization.rbac import Attributes, RBACAuthorizer, aggregate
from kube_sandbox.registry import field_errors
from kube_sandbox.registry.field_errors import FieldError

AUTHORIZATION = "authorization.k8s.io"
AUTHENTICATION = "authentication.k8s.io"
_RESOURCE_RULE_PARTS = ("verbs", "apiGroups", "resources", "resourceNames")


class Reviews:
    """Answers them; `kinds` are plurals with group."""

    kinds = (
        f"subjectaccessreviews.{AUTHORIZATION}",
        f"localsubjectaccessreviews.{AUTHORIZATION}",
        f"selfsubjectaccessreviews.{AUTHORIZATION}",
        f"selfsubjectrulesreviews.{AUTHORIZATION}",
        f"selfsubjectreviews.{AUTHENTICATION}",
        f"tokenreviews.{AUTHENTICATION}",
    )

    def __init__(self, access: RBACAuthorizer, identities: Authenticator) -> None:
        self._access = access
        self._identities = identities

    def answer(
        self, kind: str, body: KubeObject, namespace: str, user: UserInfo, now: datetime
    ) -> KubeObject:
        """Answer a review of one of the kinds; `namespace` is that of the request."""
        match kind.partition(".")[0]:
            case "subjectaccessreviews":
                spec = _spec(body)
                errors = [*_attribute_errors(spec), *_subject_errors(spec), *_metadata_errors(body)]
                _refuse(errors)
                return self._decided("SubjectAccessReview", body, _subject(spec))
            case "localsubjectaccessreviews":
                return self._local_subject_access(body, namespace)
            case "selfsubjectaccessreviews":
                _refuse([*_attribute_errors(_spec(body)), *_metadata_errors(body)])
                return self._decided("SelfSubjectAccessReview", body, user)
            case "selfsubjectrulesreviews":
                return self._self_subject_rules(body, user)
            case "selfsubjectreviews":
                return self_subject(user, now)
            case _:
                spec = _spec(body)
                if not spec.get("token"):
                    raise api_errors.bad_request(
                        "token is required for TokenReview in authentication"
                    )
                verdict = self._identities.verdict(spec["token"], now, spec.get("audiences") or ())
                if verdict.asker is None:
                    status: KubeObject = {"user": {}, "error": verdict.error}
                else:
                    status = {
                        "authenticated": True,
                        "user": _user(verdict.asker),
                        "audiences": list(verdict.audiences),
                    }
                return _review(
                    AUTHENTICATION, "TokenReview", body, {"spec": spec, "status": status}
                )

    def _local_subject_access(self, body: KubeObject, namespace: str) -> KubeObject:
        spec = _spec(body)
        metadata = body.get("metadata") or {}
        if metadata.get("namespace", namespace) != namespace:
            raise api_errors.bad_request(
                "the namespace of the provided object does not match the namespace sent on "
                "the request"
            )
        body = {**body, "metadata": {"namespace": namespace, **metadata}}
        errors = [*_attribute_errors(spec), *_subject_errors(spec)]
        errors += _metadata_errors(body, "must be empty except for namespace")
        resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
        if resource is not None and resource.get("namespace", "") != namespace:
            path = "spec.resourceAttributes.namespace"
            message = resource.get("namespace", "")
            errors.append(field_errors.invalid(path, message, "must match metadata.namespace"))
        if other is not None:
            text = "disallowed on this kind of request"
            errors.append(
                field_errors.invalid(
                    "spec.nonResourceAttributes", _internal_attributes(other), text
                )
            )
        _refuse(errors)
        return self._decided("LocalSubjectAccessReview", body, _subject(spec))

    def _self_subject_rules(self, body: KubeObject, user: UserInfo) -> KubeObject:
        namespace = _spec(body).get("namespace", "")
        if not namespace:
            raise api_errors.bad_request("no namespace on request")
        rules, errors = self._access.rules(user, namespace)
        status: KubeObject = {
            "resourceRules": [
                {part: rule[part] for part in _RESOURCE_RULE_PARTS if rule.get(part)}
                for rule in rules
                if rule.get("resources")
            ],
            "nonResourceRules": [
                {"verbs": each["verbs"], "nonResourceURLs": each["nonResourceURLs"]}
                for each in rules
                if each.get("nonResourceURLs")
            ],
            "incomplete": False,
        }
        if errors:
            status["evaluationError"] = aggregate(errors)
        return _review(AUTHORIZATION, "SelfSubjectRulesReview", {}, {"spec": {}, "status": status})

    def _decided(self, kind: str, body: KubeObject, user: UserInfo) -> KubeObject:
        spec = _spec(body)
        about = spec.get("resourceAttributes")
        if about is None:
            about = spec["nonResourceAttributes"]
            attributes: Attributes = Attributes(about.get("verb", ""), path=about.get("path", ""))
        else:
            parts = ("verb", "group", "resource", "subresource", "namespace", "name")
            attributes = Attributes(*(about.get(part, "") for part in parts))
        decision = self._access.decide(user, attributes)
        status: KubeObject = {"allowed": decision.allowed}
        if decision.reason:
            status["reason"] = decision.reason
        return _review(AUTHORIZATION, kind, body, {"spec": spec, "status": status})


def self_subject(user: UserInfo, now: datetime) -> KubeObject:
    """Return the SelfSubjectReview of a user."""
    body = {"metadata": {"creationTimestamp": format_time(now)}}
    message = {"status": {"userInfo": _user(user)}}
    return _review(AUTHENTICATION, "SelfSubjectReview", body, message)


def _review(group: str, kind: str, body: KubeObject, content: KubeObject) -> KubeObject:
    head = {"kind": kind, "apiVersion": f"{group}/v1", "metadata": body.get("metadata") or {}}
    return {**head, **content}


def _spec(body: KubeObject) -> dict[str, Any]:
    return body.get("spec") or {}


def _user(user: UserInfo) -> KubeObject:
    message: KubeObject = {
        "username": user.user,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra.items()},
    }
    return {key: value for key, value in message.items() if value}


def _subject(spec: Mapping[str, Any]) -> UserInfo:
    extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
    groups = tuple(spec.get("groups") or ())
    return UserInfo(spec.get("user", ""), groups, spec.get("uid", ""), extra)


def _attribute_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and other is not None:
        text = "cannot be specified in combination with resourceAttributes"
        return [
            field_errors.invalid("spec.nonResourceAttributes", _internal_attributes(other), text)
        ]
    if resource is None and other is None:
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [field_errors.invalid("spec.resourceAttributes", None, text)]
    return []


def _subject_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    if spec.get("user") or spec.get("groups"):
        return []
    text = "at least one of user or group must be specified"
    return [field_errors.invalid("spec.user", spec.get("user", ""), text)]


def _metadata_errors(body: KubeObject, text: str = "must be empty") -> list[FieldError]:
    """Reject metadata of a review: it is answered, never stored."""
    metadata = body.get("metadata") or {}
    allowed = {"managedFields", "namespace"} if "except" in text else {"managedFields"}
    if metadata.keys() <= allowed:
        return []
    return [field_errors.invalid("metadata", metadata, text)]


def _internal_attributes(attributes: Mapping[str, str]) -> KubeObject:
    return {"Path": attributes.get("path", ""), "Verb": attributes.get("verb", "")}


def _refuse(errors: list[FieldError]) -> None:
    # A review has no name, and what was decoded does not know its kind any more.
    if errors:
        raise api_errors.invalid(AUTHORIZATION, "", "", errors)
