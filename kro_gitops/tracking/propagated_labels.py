"""
Labels that flow from an instance to its children.

A team's label on an instance should be found on all its children. Labels that tools act on are not
propagated: a tool would count the child to its own objects.
"""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from kro_gitops.metadata import GITOPS_GROUP, INTERNAL_GROUP, KRO_GROUP, MANAGED_BY
from kro_gitops.settings.tracking_options import INSTANCE_LABEL

ALL_LABELS = ("*",)

_EXCLUDED_DOMAINS = frozenset(
    (
        KRO_GROUP,
        INTERNAL_GROUP,
        GITOPS_GROUP,
        "argocd.argoproj.io",
        "applications.argoproj.io",
        "helm.sh",
        "kubernetes.io",
        "k8s.io",
    )
)
_EXCLUDED_PARENT_DOMAINS = (".toolkit.fluxcd.io", ".kubernetes.io", ".k8s.io")
_APP_DOMAIN = "app.kubernetes.io"  # recommended labels, for readers
_EXCLUDED_KEYS = frozenset((INSTANCE_LABEL, MANAGED_BY))


def propagated_labels(
    labels: Mapping[str, str], patterns: Iterable[str], label_key: str
) -> dict[str, str]:
    """Return the labels of an instance that its children get; `label_key` is Argo CD's own."""
    selected = tuple(patterns)
    return {
        key: value
        for key, value in labels.items()
        if key != label_key
        and is_propagated(key)
        and any(fnmatchcase(key, pattern) for pattern in selected)
    }


def is_propagated(key: str) -> bool:
    """Return whether a label means the same on a child as on its instance."""
    domain, slash, _ = key.rpartition("/")
    if key in _EXCLUDED_KEYS or domain in _EXCLUDED_DOMAINS:
        return False
    return not slash or domain == _APP_DOMAIN or not domain.endswith(_EXCLUDED_PARENT_DOMAINS)
