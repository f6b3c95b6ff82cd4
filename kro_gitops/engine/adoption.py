"""Decides whether an object that exists and is not a child of the instance is adopted."""

from kro_gitops.metadata import ADOPT
from kro_gitops.settings.option import AdoptionPolicy
from kube_objects.errors import RefusedError
from kube_objects.refs import KubeObject, ObjectRef


def may_adopt(policy: AdoptionPolicy, instance: KubeObject, child: ObjectRef) -> bool:
    """
    Return True if an instance may take over an object that exists and has another owner.

    The annotation of an instance is written by its users, so it reaches no further than their
    namespace; everything else is the decision of the platform.
    """
    if policy is not AdoptionPolicy.REFUSE:
        return policy is AdoptionPolicy.ADOPT
    namespace = instance["metadata"].get("namespace")
    is_near = bool(child.namespace) and child.namespace == namespace
    return is_near and may_adopt_any(policy, instance)


def may_adopt_any(policy: AdoptionPolicy, instance: KubeObject) -> bool:
    """Return True if some child of an instance may have been there before it."""
    if policy is not AdoptionPolicy.REFUSE:
        return policy is AdoptionPolicy.ADOPT
    return (instance["metadata"].get("annotations") or {}).get(ADOPT) == "true"


class NotAdopted(RefusedError):  # noqa: N818 - what it is, beside DuplicateTarget and the like
    """
    A child that another client created; `owners` are its field managers, as far as they are known.

    They are named at the end of the text. The rest of it is the same without a cluster.
    """

    def __init__(self, ref: ObjectRef, owners: tuple[str, ...] = ()) -> None:
        known = f" (its field managers: {', '.join(owners)})" if owners else ""
        super().__init__(
            "not-ours",
            f"{ref} already exists and was created by another client: it is not adopted; "
            f'remove or rename it, or set {ADOPT}: "true" on the instance{known}',
        )
        self.ref = ref
        self.owners = owners
