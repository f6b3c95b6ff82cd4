"""What an authenticated call contains."""

from dataclasses import dataclass

from kro_gitops.source.api.types import Forge


@dataclass(frozen=True, slots=True)
class WebhookCall:
    """
    An authenticated call.

    `refs` are full names, and `urls` are those of one repository. Where either is empty, the
    call does not name any: it may be about all. Pull requests name refs, too, and are no push.
    """

    forge: Forge
    event: str
    is_push: bool
    refs: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    delivery: str = ""  # the forge's name for this call, the same if it is sent again
