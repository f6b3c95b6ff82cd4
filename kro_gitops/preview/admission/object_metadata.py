"""
Names, labels and annotations against the rules for all objects.

Rules and messages are those of k8s.io/apimachinery, pkg/api/validation/objectmeta.go and
pkg/util/validation/validation.go.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache

from kro_gitops.engine.plan.placeholder import is_unknown
from kro_gitops.kube.responses import Cause
from kube_objects.dns_names import (
    DNS_1123_SUBDOMAIN,
    NameShape,
    label_problems,
    path_segment_problems,
)
from kube_objects.go_text import quote
from kube_objects.refs import Kind, KubeObject

_DNS_1035_LABEL = NameShape(
    "[a-z]([-a-z0-9]*[a-z0-9])?",
    63,
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with "
    "an alphabetic character, and end with an alphanumeric character",
    ("my-name", "abc-123"),
)
_KEY_NAME = NameShape(
    "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]",
    63,
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
    "an alphanumeric character",
    ("MyName", "my.name", "123-abc"),
)
_LABEL_VALUE = NameShape(
    f"({_KEY_NAME.pattern})?",
    63,
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' "
    "or '.', and must start and end with an alphanumeric character",
    ("MyValue", "my_value", "12345"),
)
_DATA_KEY = NameShape(
    "[-._a-zA-Z0-9]+",
    253,
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    ("key.name", "KEY_NAME", "key-name"),
)
_MAX_ANNOTATIONS_BYTES = 256 * 1024
_RBAC = "rbac.authorization.k8s.io"


def metadata_causes(metadata: KubeObject, kind: Kind) -> Iterator[Cause]:
    """Yield the errors in the metadata of an object, as far as it is known."""
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if isinstance(name, str):
        rule = _NAME_RULES.get((kind.group, kind.kind), DNS_1123_SUBDOMAIN.problems)
        yield from (_invalid("metadata.name", name, each) for each in rule(name))
    if isinstance(namespace, str) and namespace:
        for text in label_problems(namespace):
            yield _invalid("metadata.namespace", namespace, text)
    labels, annotations = metadata.get("labels"), metadata.get("annotations")
    for key, value in labels.items() if isinstance(labels, dict) else ():
        for text in _key_problems(key):
            yield _invalid("metadata.labels", key, text)
        for text in _LABEL_VALUE.problems(value, "bytes") if isinstance(value, str) else ():
            yield _invalid("metadata.labels", value, text)
    if isinstance(annotations, dict):
        size = 0
        for key, value in annotations.items():
            for text in _key_problems(key.lower()):
                yield _invalid("metadata.annotations", key, text)
            if not is_unknown(value):
                size += len(key.encode()) + len(str(value).encode())
        if size > _MAX_ANNOTATIONS_BYTES:
            text = f"Too long: may not be more than {_MAX_ANNOTATIONS_BYTES} bytes"
            yield Cause("FieldValueTooLong", text, "metadata.annotations")
    finalizers = metadata.get("finalizers")
    for each in finalizers if isinstance(finalizers, list) else ():
        for text in _key_problems(each) if isinstance(each, str) else ():
            yield _invalid("metadata.finalizers", each, text)


def is_label_value(value: str) -> bool:
    """Return whether a text may be the value of a label."""
    return not _LABEL_VALUE.problems(value, "bytes")


def data_key_causes(obj: KubeObject) -> Iterator[Cause]:
    """Yield the errors in the keys of a ConfigMap or a Secret."""
    if (obj.get("apiVersion"), obj.get("kind")) not in (("v1", "ConfigMap"), ("v1", "Secret")):
        return
    for section in ("data", "binaryData"):
        keys = obj.get(section)
        for key in keys if isinstance(keys, dict) else ():
            texts = _DATA_KEY.problems(key)
            if key in (".", ".."):
                texts.append(f"must not be '{key}'")
            elif key.startswith(".."):
                texts.append("must not start with '..'")
            for text in texts:
                yield _invalid(f"{section}[{key}]", key, text)


def _invalid(field: str, value: str, text: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {quote(value)}: {text}", field)


@lru_cache(maxsize=4096)  # the children of a repository have few keys
def _key_problems(key: str) -> tuple[str, ...]:
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        hint = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (f"a valid label key {_KEY_NAME.mismatch()}{hint}",)
    found: list[str] = []
    if slash and not prefix:
        found.append("prefix part must be non-empty")
    elif slash:
        found += (f"prefix part {each}" for each in DNS_1123_SUBDOMAIN.problems(prefix, "bytes"))
    if not name:
        found.append("name part must be non-empty")
    found += (f"name part {each}" for each in _KEY_NAME.problems(name, "bytes"))
    return tuple(found)


_NAME_RULES: dict[tuple[str, str], Callable[[str], list[str]]] = {
    ("", "Namespace"): label_problems,
    ("", "Service"): _DNS_1035_LABEL.problems,
    ("apps", "StatefulSet"): label_problems,
    ("apiregistration.k8s.io", "APIService"): path_segment_problems,
    (_RBAC, "Role"): path_segment_problems,
    (_RBAC, "RoleBinding"): path_segment_problems,
    (_RBAC, "ClusterRole"): path_segment_problems,
    (_RBAC, "ClusterRoleBinding"): path_segment_problems,
}
