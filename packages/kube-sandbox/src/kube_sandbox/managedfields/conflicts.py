"""
The messages about conflicts with other field managers.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/util/managedfields/internal/conflict.go
NewConflictError, getConflictMessage, printManager.
"""

from collections.abc import Mapping

from kube_objects.go_text import quote
from kube_sandbox.api_errors import StatusError, apply_conflict
from kube_sandbox.managedfields import fieldset
from kube_sandbox.managedfields.entries import UPDATE, identity_text
from kube_sandbox.managedfields.fieldset import FieldSet
from kube_sandbox.managedfields.updater import Identity


def conflict_error(owners: Mapping[Identity, FieldSet], *, is_stored: bool) -> StatusError:
    """Return which fields belong to whom; `is_stored` says that this was noted before."""
    print_number = fieldset.stored_number_text if is_stored else fieldset.applied_number_text
    found = []
    for identity in sorted(owners, key=identity_text):
        text = quote(identity.manager)
        if identity.subresource:
            text = f"{text} with subresource {quote(identity.subresource)}"
        found.append(
            (
                (f"{text} using {identity.api_version}" if identity.operation == UPDATE else text),
                [
                    fieldset.path_text(path, print_number)
                    for path in fieldset.paths(owners[identity])
                ],
            )
        )
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {manager}", "field": path}
        for manager, paths in found
        for path in paths
    ]
    count = len(causes)
    if count == 1:
        manager, (path,) = found[0]
        message = f"Apply failed with 1 conflict: conflict with {manager}: {path}"
    else:
        lines = []
        for manager, paths in found:
            lines += [f"conflicts with {manager}:", *(f"- {path}" for path in paths)]
        text = "\n".join(lines)
        message = f"Apply failed with {count} conflicts: {text}"
    return apply_conflict(message, causes)
