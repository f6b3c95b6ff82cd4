"""How it is told that fields belong to others."""

from collections.abc import Mapping

from kro_gitops.apiserver.field_errors import quoted
from kro_gitops.apiserver.managedfields import fieldset
from kro_gitops.apiserver.managedfields.entries import UPDATE, identity_text
from kro_gitops.apiserver.managedfields.fieldset import FieldSet
from kro_gitops.apiserver.managedfields.gotext import number, plain
from kro_gitops.apiserver.managedfields.merge import Identity
from kro_gitops.apiserver.statuses import StatusError, apply_conflict


def refusal(owners: Mapping[Identity, FieldSet], *, is_stored: bool) -> StatusError:
    """Say which fields belong to whom; `is_stored` says that this was noted before."""
    print_number = number if is_stored else plain
    found = [
        (
            _shown(identity),
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


def _shown(identity: Identity) -> str:
    text = quoted(identity.manager)
    if identity.subresource:
        text = f"{text} with subresource {quoted(identity.subresource)}"
    return f"{text} using {identity.api_version}" if identity.operation == UPDATE else text
