"""
The CRDs of sources: GitSource and SourceInventory.

Shapes come from `source.api`; here they get what only a CRD needs: names, and a text for every
field that `kubectl explain` and the reference page show.
"""

from kro_gitops.engine.crd.template import CrdNames, crd_object, crd_version, with_descriptions
from kro_gitops.source.api.resources import (
    GIT_SOURCE_COLUMNS,
    GIT_SOURCE_KIND,
    GIT_SOURCE_PLURAL,
    GIT_SOURCE_SCHEMA,
    SOURCE_INVENTORY_COLUMNS,
    SOURCE_INVENTORY_KIND,
    SOURCE_INVENTORY_PLURAL,
    SOURCE_INVENTORY_SCHEMA,
)
from kube_objects.refs import KubeObject

_CATEGORIES = ("gitops",)

_TYPE_TEXTS = {
    "apiVersion": "The group and version of this object.",
    "kind": "The kind of this object.",
}

_SECRET_NAME = "The name of the Secret, in the namespace of the source."


def _object_texts(path: str) -> dict[str, str]:
    return {
        f"{path}.group": "The API group of the object.",
        f"{path}.kind": "The kind of the object.",
        f"{path}.namespace": "The namespace of the object.",
        f"{path}.name": "The name of the object.",
    }


_WHERE_TEXTS = {
    "spec.url": "The repository: https://, http:// or ssh://; file:// where the controller allows "
    "it. Without user name and password: those belong into a Secret.",
    "spec.ref": "The desired revision. Of several fields the last one here wins; without any, "
    "the branch that the repository's HEAD names.",
    "spec.ref.branch": "The tip of a branch.",
    "spec.ref.tag": "A tag.",
    "spec.ref.semver": "The highest tag in a range of versions: `>=1.2.0 <2.0.0`, `~1.4`. "
    "Pre-releases count only if the range names one.",
    "spec.ref.semverFilter": "A regular expression; other tags are not looked at.",
    "spec.ref.name": "A full ref, refs/pull/7/head say.",
    "spec.ref.commit": "A commit, by its full id. With a branch, it must be in that branch.",
    "spec.paths": "Folders or files to read; without any, the whole repository.",
    "spec.ignore": "Patterns of files not to read, one a line, as in .gitignore. They come after "
    "those of .sourceignore and .kroignore files in the repository.",
    "spec.interval": "How often the repository is asked for news.",
    "spec.timeout": "How long a single git operation may take.",
    "spec.suspend": "Leave everything as it is until this is false again.",
    "spec.provider": "How to log in: generic as secretRef says, github as a GitHub App.",
    "spec.secretRef": "How to log in. The Secret has the keys that Flux knows: username and "
    "password, bearerToken, identity and known_hosts, ca.crt, tls.crt and tls.key, or those of a "
    "GitHub App.",
    "spec.secretRef.name": _SECRET_NAME,
    "spec.proxySecretRef": "A proxy: address, and username and password if it asks for them.",
    "spec.proxySecretRef.name": _SECRET_NAME,
    "spec.blobFilter": "Fetch only those files that are read. It saves much in a large repository "
    "of which a small part is used, and needs a server that supports it.",
    "spec.verify": "Take nothing that was not signed with a trusted key.",
    "spec.verify.mode": "What must be signed: the commit (HEAD), the tag (Tag), or both.",
    "spec.verify.secretRef": "The keys that are trusted: PGP in *.asc, SSH in *.sshpub.",
    "spec.verify.secretRef.name": _SECRET_NAME,
}

_CARE_TEXTS = {
    "spec.prune": "Delete what is no longer in the repository.",
    "spec.maxPrune": "The brake: deletions are held back where a revision would delete more than "
    "both numbers say.",
    "spec.maxPrune.percent": "How much of what was applied may go at once.",
    "spec.maxPrune.count": "How many objects may go at once, whatever share that is.",
    "spec.allowEmpty": "Let a revision without any object delete all of them.",
    "spec.deletionPolicy": "What becomes of the objects when this source is deleted: as prune says "
    "(MirrorPrune), deleted, deleted and waited for, or left alone (Orphan).",
    "spec.drift": "What happens to changes that other clients make in the cluster.",
    "spec.drift.mode": "Undo it (correct), report it (warn), or leave it (ignore).",
    "spec.drift.ignore": "Fields that may differ.",
    "spec.drift.ignore[]": "Some fields, on some objects.",
    "spec.drift.ignore[].paths": "The fields, as JSON pointers: /spec/replicas.",
    "spec.drift.ignore[].target": "The objects; what is left out matches any. Without it: all.",
    "spec.drift.ignore[].target.group": "The API group of the objects.",
    "spec.drift.ignore[].target.kind": "The kind of the objects.",
    "spec.drift.ignore[].target.namespace": "The namespace of the objects.",
    "spec.drift.ignore[].target.name": "The name of the object.",
    "spec.adopt": "Take over objects that Argo CD, Flux, Helm or another source manages.",
    "spec.force": "Delete and create again what cannot be changed in place.",
    "spec.wait": "Be ready only when everything that was applied is.",
    "spec.healthTimeout": "How long to wait for that.",
    "spec.allow": "What this source may touch beside ordinary objects in its own namespace.",
    "spec.allow.namespaces": "Other namespaces; * and ? stand for any characters.",
    "spec.allow.kinds": "The only kinds it may bring: Deployment.apps, ConfigMap, *.example.com. "
    "Without any, all but those of rbac.authorization.k8s.io, a group that must be named.",
    "spec.allow.clusterScoped": "Objects outside namespaces.",
    "spec.allow.rgds": "ResourceGraphDefinitions, and with them new kinds for the whole cluster.",
    "spec.allow.instancesOf": "The only generated kinds of which it may bring instances: "
    "WebApp.kro.run. Without any, kinds decides.",
    "spec.serviceAccountName": "The account in the source's namespace in whose name everything is "
    "done: reading, applying, pruning, and the children of the instances.",
    "spec.dependsOn": "Sources that must be ready first.",
    "spec.dependsOn[]": "A source.",
    "spec.dependsOn[].name": "The name of the source.",
    "spec.dependsOn[].namespace": "The namespace of the source, if it is another one.",
}

_COMPANY_TEXTS = {
    "spec.tracking": "What of Argo CD's marks the objects carry.",
    "spec.tracking.mode": "Keep what is written in the repository (follow), have none (native), "
    "or be shown by an Application (bridge).",
    "spec.tracking.application": "The Application that shall show the objects: NAME, or "
    "NAMESPACE/NAME.",
    "spec.tracking.argocdNamespace": "Where Argo CD runs.",
    "spec.notifications": "Whom to tell what happens.",
    "spec.notifications[]": "A receiver of notifications.",
    "spec.notifications[].type": "How the message is written.",
    "spec.notifications[].secretRef": "Where to: address, token to sign with, ca.crt of a private "
    "authority.",
    "spec.notifications[].secretRef.name": _SECRET_NAME,
    "spec.notifications[].events": "What to tell. Without any, all.",
    "spec.webhook": "Who may call to have the repository polled at once.",
    "spec.webhook.secretRef": "The secret that is shared with the caller, under token.",
    "spec.webhook.secretRef.name": _SECRET_NAME,
    "spec.webhook.forge": "Who calls; without it, the headers of the call tell.",
    "spec.pin": "Stay at a commit, whatever ref says. This is how a rollback is written.",
    "spec.pin.commit": "The commit, by its full id.",
    "spec.pin.reason": "Why, for those who wonder.",
    "spec.pin.expires": "Until when; without it, until the pin is taken away.",
    "spec.pin.by": "Who pinned.",
    "spec.pins": "Objects that stay as a commit has them, while all others follow the ref. They "
    "are not pruned if later commits have them no more.",
    "spec.pins[]": "A pinned object.",
    **_object_texts("spec.pins[]"),
    "spec.pins[].commit": "The commit, by its full id; it must have the object.",
    "spec.pins[].reason": "Why.",
    "spec.pins[].expires": "Until when; without it, until the pin is removed.",
    "spec.pins[].by": "Who pinned.",
}

_FAILURE_TEXTS = {
    "object": "The object, as people name it.",
    "file": "The file in the repository.",
    "line": "The line in the file.",
    "column": "The column in the line.",
    "code": "What is wrong, in one word for programs; the error reference explains it.",
    "message": "What is wrong, and what to do.",
}

_STATUS_TEXTS = {
    "status": "What has become of it.",
    "status.observedGeneration": "The generation of the spec that was looked at.",
    "status.lastHandledReconcileAt": "The value of the annotation "
    "reconcile.fluxcd.io/requestedAt that was last answered.",
    "status.phase": "What is being done, or how it ended.",
    "status.lastAppliedRevision": "The revision of which everything was applied.",
    "status.lastAttemptedRevision": "The revision that was tried last.",
    "status.artifact": "What was fetched last.",
    "status.artifact.revision": "The revision: main@sha1:ID.",
    "status.artifact.lastUpdateTime": "When it was fetched.",
    "status.artifact.digest": "A digest of the files that were read.",
    "status.commit": "The commit of that revision.",
    "status.commit.id": "Its full id.",
    "status.commit.author": "Who wrote it.",
    "status.commit.committer": "Who committed it.",
    "status.commit.time": "When it was committed.",
    "status.commit.message": "The first line of its message.",
    "status.commit.signature": "Whose signature was found good.",
    "status.inventory": "How much there is.",
    "status.inventory.objects": "All objects that were applied.",
    "status.inventory.definitions": "ResourceGraphDefinitions among them.",
    "status.inventory.instances": "Instances of generated kinds among them.",
    "status.inventory.ready": "Those that are ready.",
    "status.inventory.failed": "Those that failed.",
    "status.inventory.shards": "The SourceInventory objects that list them.",
    "status.failures": "What went wrong, at most 20.",
    "status.failures[]": "Something that went wrong.",
    "status.failuresOmitted": "How many more there were.",
    "status.warnings": "What looks wrong but stops nothing, at most 20.",
    "status.warnings[]": "Something that looks wrong.",
    **{f"status.failures[].{name}": text for name, text in _FAILURE_TEXTS.items()},
    **{f"status.warnings[].{name}": text for name, text in _FAILURE_TEXTS.items()},
    "status.history": "The last revisions, newest first, at most 10.",
    "status.history[]": "A revision that was tried.",
    "status.history[].revision": "The revision.",
    "status.history[].digest": "A digest of the objects in it.",
    "status.history[].started": "When it was begun.",
    "status.history[].finished": "When it was over.",
    "status.history[].result": "How it ended.",
    "status.history[].author": "Who wrote the commit.",
    "status.history[].message": "The first line of its message.",
    "status.history[].created": "How many objects were created.",
    "status.history[].changed": "How many objects were changed.",
    "status.history[].pruned": "How many objects were deleted.",
    "status.history[].failed": "How many objects failed.",
    "status.history[].childrenCreated": "How many children instances created.",
    "status.history[].childrenChanged": "How many children were changed.",
    "status.history[].childrenDeleted": "How many children were deleted.",
    "status.history[].childrenHeld": "How many children wait for approval to be deleted.",
    "status.pin": "The pin that is in force.",
    "status.pin.commit": "The commit.",
    "status.pin.reason": "Why.",
    "status.pin.expires": "Until when.",
    "status.pin.by": "Who pinned.",
    "status.pins": "The pins of objects that are in force.",
    "status.pins[]": "A pinned object.",
    **_object_texts("status.pins[]"),
    "status.pins[].commit": "The commit.",
    "status.pins[].reason": "Why.",
    "status.pins[].expires": "Until when.",
    "status.pins[].by": "Who pinned.",
    "status.plan": "What another pin, or none, would change: the answer to the annotation "
    "gitops.kro.run/plan-request.",
    "status.plan.request": "The id of the request.",
    "status.plan.revision": "The revision that was planned.",
    "status.plan.created": "How many objects would be created, children included.",
    "status.plan.changed": "How many objects would be changed.",
    "status.plan.deleted": "How many objects would be deleted.",
    "status.plan.objects": "The objects, at most 300, deletions first.",
    "status.plan.objects[]": "An object that would change.",
    "status.plan.objects[].action": "What would happen to it.",
    **_object_texts("status.plan.objects[]"),
    "status.plan.objects[].file": "The file in the repository.",
    "status.plan.objects[].instance": "The instance whose child it is.",
    **_object_texts("status.plan.objects[].instance"),
    "status.plan.objects[].uncertain": "Whether only the cluster can decide about it.",
    "status.plan.objectsOmitted": "How many more there are.",
    "status.plan.failures": "What would fail, at most 20.",
    "status.plan.failures[]": "Something that would fail.",
    "status.plan.notes": "What else is to be known, at most 20.",
    "status.plan.notes[]": "Something to be known.",
    "status.plan.error": "Why there is no plan.",
    "status.plan.error.code": "What is wrong, in one word for programs.",
    "status.plan.error.message": "What is wrong, and what to do.",
    "status.webhookPath": "The path of the URL to call, at the address of the webhook server.",
    "status.conditions": "How far things are, condition by condition; Ready adds them up.",
    "status.conditions[]": "A condition.",
    "status.conditions[].type": "What the condition is about.",
    "status.conditions[].status": "True, False or Unknown.",
    "status.conditions[].reason": "Why, in one word for programs.",
    "status.conditions[].message": "Why, for people.",
    "status.conditions[].lastTransitionTime": "Since when the status is what it is.",
    "status.conditions[].observedGeneration": "The generation of the object that was looked at.",
}

_GIT_SOURCE_TEXTS = {
    "": "A git repository, of which the ResourceGraphDefinitions and objects are kept applied.",
    **_TYPE_TEXTS,
    "spec": "Which repository, and what may be done with it.",
    **_WHERE_TEXTS,
    **_CARE_TEXTS,
    **_COMPANY_TEXTS,
    **_STATUS_TEXTS,
}

_SOURCE_INVENTORY_TEXTS = {
    "": "What a GitSource has applied. It is written by the controller and for its eyes.",
    **_TYPE_TEXTS,
    "entries": "The objects, by GROUP/KIND/NAMESPACE/NAME; group and namespace may be empty.",
    "entries{}": "An object.",
    "entries{}.version": "The version under which it was applied.",
    "entries{}.uid": "The uid that it got; empty while it is only intended.",
    "entries{}.hash": "A hash of its content.",
    "entries{}.stage": "The stage in which it is applied.",
    "entries{}.path": "The file it is written in.",
    "entries{}.revision": "The commit at which its content last changed.",
}


def source_crds() -> tuple[KubeObject, KubeObject]:
    """Return the CRDs that must be served before there can be sources."""
    return git_source_crd(), source_inventory_crd()


def git_source_crd() -> KubeObject:
    """Return the CRD of GitSource."""
    served = crd_version(
        GIT_SOURCE_KIND,
        with_descriptions(GIT_SOURCE_SCHEMA, _GIT_SOURCE_TEXTS, {}),
        GIT_SOURCE_COLUMNS,
    )
    return crd_object(
        GIT_SOURCE_KIND, CrdNames(GIT_SOURCE_PLURAL, "gs", _CATEGORIES), served, "Namespaced"
    )


def source_inventory_crd() -> KubeObject:
    """Return the CRD of SourceInventory."""
    served = crd_version(
        SOURCE_INVENTORY_KIND,
        with_descriptions(SOURCE_INVENTORY_SCHEMA, _SOURCE_INVENTORY_TEXTS, {}),
        SOURCE_INVENTORY_COLUMNS,
        has_status=False,
    )
    names = CrdNames(SOURCE_INVENTORY_PLURAL, "si", _CATEGORIES)
    return crd_object(SOURCE_INVENTORY_KIND, names, served, "Namespaced")
