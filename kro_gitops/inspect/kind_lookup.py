"""
Names of kinds as kubectl accepts them: `webapp`, `WebApp`, `webapps.kro.run`, or a short name.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from kro_gitops.errors import UserError
from kro_gitops.kube.api import Resource
from kro_gitops.metadata import GITOPS_GROUP, KRO_GROUP

_SHOWN = 10
_SOURCE = frozenset(("source", "sources", "gs", "gitsource", "gitsources"))
_DEFINITION = frozenset(("rgd", "resourcegraphdefinition", "resourcegraphdefinitions"))
_SOURCE_GROUPS = ("", GITOPS_GROUP, f"v1alpha1.{GITOPS_GROUP}")


def means_source(word: str) -> bool:
    """Return True if a word means our sources; a kind of the same name needs its full name."""
    name, _, rest = word.lower().partition(".")
    return name in _SOURCE and rest in _SOURCE_GROUPS


def means_definition(word: str) -> bool:
    """Return True if a word means ResourceGraphDefinitions."""
    name, _, rest = word.lower().partition(".")
    return name in _DEFINITION and rest in ("", KRO_GROUP, f"v1alpha1.{KRO_GROUP}")


@dataclass(frozen=True, slots=True)
class Offer:
    """A kind that can be named, and its short names."""

    resource: Resource
    short_names: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """Return the unambiguous name: `webapps.kro.run`."""
        group = self.resource.kind.group
        return f"{self.resource.plural}.{group}" if group else self.resource.plural

    def is_called(self, word: str) -> bool:
        """Return True if a word means this kind."""
        name, _, rest = word.lower().partition(".")
        kind = self.resource.kind
        names = (kind.kind.lower(), self.resource.plural, *self.short_names)
        return name in names and rest in ("", kind.group, f"{kind.version}.{kind.group}")


def find_offer(word: str, offers: Iterable[Offer]) -> Offer | None:
    """Return the kind that a word means; raise if it means several."""
    found = [offer for offer in offers if offer.is_called(word)]
    kinds = {(offer.resource.kind.group, offer.resource.kind.kind) for offer in found}
    if len(kinds) > 1:
        names = " or ".join(sorted({offer.full_name for offer in found}))
        raise UserError("ambiguous-kind", f"'{word}' means several kinds", hint=f"say {names}")
    return found[0] if found else None


def unknown_kind(word: str, offers: Iterable[Offer]) -> UserError:
    """Return the error for an unknown kind, with the names that exist."""
    names = sorted(offer.full_name for offer in offers)
    more = ", …" if len(names) > _SHOWN else ""
    listed = ", ".join(names[:_SHOWN]) + more
    hint = f"definitions make: {listed}" if names else "no definition makes any kind yet"
    return UserError("no-such-kind", f"this cluster has no kind '{word}'", hint=hint)
