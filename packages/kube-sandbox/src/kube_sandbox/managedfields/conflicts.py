"""How it is told that fields belong to others."""

from collections.abc import Mapping

from kube_objects.go_text import quote
from kube_sandbox.api_errors import StatusError, apply_conflict
from kube_sandbox.managedfields import fieldset
from kube_sandbox.managedfields.entries import UPDATE, identity_text
from kube_sandbox.managedfields.fieldset import FieldSet
from kube_sandbox.managedfields.updater import Identity


def conflict_error(owners: Mapping[Identity, FieldSet], *, is_stored: bool) -> StatusError:
    """Say which fields belong to whom; `is_stored` says that this was noted before."""
    print_number = fieldset.stored_number_text if is_stored else fieldset.applied_number_text
    found = [
        (
            _format_manager(identity),
            [fieldset.path_text(path, print_number) for path in fieldset.paths(owners[identity])],
        )
        for identity in sorted(owners, key=identity_text)
    ]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {manager}", "field": path}
        for manager, paths in found
        for path in paths
    ]
    return apply_conflict(_message(found, len(causes)), causes)


def _message(found: list[tuple[str, list[str]]], count: int) -> str:
    if count == 1:
        manager, (path,) = found[0]
        return f"Apply failed with 1 conflict: conflict with {manager}: {path}"
    lines = []
    for manager, paths in found:
        lines += [f"conflicts with {manager}:", *(f"- {path}" for path in paths)]
    text = "\n".join(lines)
    return f"Apply failed with {count} conflicts: {text}"


def _format_manager(identity: Identity) -> str:
    text = quote(identity.manager)
    if identity.subresource:
        text = f"{text} with subresource {quote(identity.subresource)}"
    return f"{text} using {identity.api_version}" if identity.operation == UPDATE else text
