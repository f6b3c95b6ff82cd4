"""
Secrets that hold the token of a service account: filled once they are there, gone with the account.

Tools that were written before tokens could be requested ask for one by such a Secret, and wait.

Follows kubernetes 1.35 pkg/controller/serviceaccount/tokens_controller.go
TokensController.syncSecret, TokensController.generateTokenIfNeeded.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from kube_objects.refs import KubeObject
from kube_sandbox.api_errors import StatusError
from kube_sandbox.controllers.client_interface import ControllerClient, Target
from kube_sandbox.storage.records import Change, ChangeType

SECRETS, ACCOUNTS = "secrets", "serviceaccounts"
_TYPE = "kubernetes.io/service-account-token"
_NAME, _UID = "kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"
_MANAGER = "kube-controller-manager"


@dataclass(frozen=True, slots=True)
class TokenSecretDependencies:
    """What is looked at, and who signs: `issue` makes the token of an account for its Secret."""

    find: Callable[[str, str, str], KubeObject | None]
    all: Callable[[str, str], Iterable[KubeObject]]
    issue: Callable[[KubeObject, KubeObject], str]
    authority: str  # the CA's certificate


@dataclass(frozen=True, slots=True)
class TokenSecretController:
    """Follows Secrets and service accounts."""

    actor: ControllerClient
    around: TokenSecretDependencies
    soon: Callable[[Callable[[], None]], None]  # does something before the next request

    def open(self) -> None:
        """Look at all that are there: the store may come from another server."""
        self._renew("")

    def on_change(self, change: Change) -> None:
        """Handle a change of the store."""
        record = change.record
        if change.bucket == ACCOUNTS and change.type is not ChangeType.MODIFIED:
            self.soon(partial(self._renew, record.namespace))
        elif change.bucket == SECRETS and _TYPE.encode() in record.value:
            self.soon(partial(self._look, record.namespace, record.name))

    def _renew(self, namespace: str) -> None:
        for each in list(self.around.all(SECRETS, namespace)):
            self._settle(each)

    def _look(self, namespace: str, name: str) -> None:
        found = self.around.find(SECRETS, namespace, name)
        if found is not None:
            self._settle(found)

    def _settle(self, secret: KubeObject) -> None:
        metadata = secret["metadata"]
        if secret.get("type") != _TYPE or "deletionTimestamp" in metadata:
            return
        # The account a Secret is for, if it is there, and still the same.
        said = metadata.get("annotations") or {}
        account: KubeObject | None = self.around.find(
            ACCOUNTS, metadata["namespace"], said.get(_NAME, "")
        )
        if (
            account is None
            or said.get(_UID, account["metadata"]["uid"]) != account["metadata"]["uid"]
        ):
            account = None
        # Another client may have written it first.
        with suppress(StatusError):
            if account is None:
                place = (metadata["namespace"], metadata["name"])
                self.actor.delete(SECRETS, Target(*place, metadata["uid"]))
                return
            before = secret.get("data") or {}
            known = {
                "ca.crt": _base64_encoded(self.around.authority),
                "namespace": _base64_encoded(metadata["namespace"]),
            }
            # A token that came with another certificate was signed elsewhere, too.
            is_own = before.get("token") and before.get("ca.crt") == known["ca.crt"]
            token = (
                before["token"] if is_own else _base64_encoded(self.around.issue(account, secret))
            )
            data = {**before, **known, "token": token}
            if data != secret.get("data"):
                annotations = {**metadata["annotations"], _UID: account["metadata"]["uid"]}
                marked = {**metadata, "annotations": annotations}
                self.actor.replace(_MANAGER, SECRETS, {**secret, "metadata": marked, "data": data})


def _base64_encoded(text: str) -> str:
    return b64encode(text.encode()).decode()
