"""
Every label, annotation and finalizer name we read or write, in one place.

Names under `kro.run/` are kro's, so that users can switch and switch back; ours stand under
`gitops.kro.run/`. Both prefixes (and `internal.kro.run/`) are reserved in templates.
"""

KRO_GROUP = "kro.run"
INTERNAL_GROUP = "internal.kro.run"
GITOPS_GROUP = "gitops.kro.run"

KRO_PREFIX = "kro.run/"
INTERNAL_PREFIX = "internal.kro.run/"
GITOPS_PREFIX = "gitops.kro.run/"
RESERVED_BY_KRO = (KRO_PREFIX, INTERNAL_PREFIX)

FINALIZER = "kro.run/finalizer"

# Labels of kro, on children, instances, revisions and generated CRDs.
OWNED = "kro.run/owned"
KRO_VERSION = "kro.run/kro-version"
NODE_ID = "kro.run/node-id"
COLLECTION_INDEX = "kro.run/collection-index"
COLLECTION_SIZE = "kro.run/collection-size"
INSTANCE_ID = "kro.run/instance-id"
INSTANCE_NAME = "kro.run/instance-name"
INSTANCE_NAMESPACE = "kro.run/instance-namespace"
INSTANCE_GROUP = "kro.run/instance-group"
INSTANCE_VERSION = "kro.run/instance-version"
INSTANCE_KIND = "kro.run/instance-kind"
DEFINITION_ID = "kro.run/resource-graph-definition-id"
DEFINITION_NAME = "kro.run/resource-graph-definition-name"
REVISION_HASH = "kro.run/graph-revision-hash"
MANAGED_BY = "app.kubernetes.io/managed-by"

# Annotations people set.
ALLOW_BREAKING_CHANGES = "kro.run/allow-breaking-changes"
RECONCILE = "kro.run/reconcile"
ADOPT = "gitops.kro.run/adopt"
READY_CONDITIONS = "gitops.kro.run/ready-conditions"
# Also in templates. The second is the name in versions of kro to come.
DELETION_POLICY = "gitops.kro.run/deletion-policy"
KRO_DELETION_POLICY = "kro.run/deletion-policy"
DRIFT_ADDED_FIELDS = "gitops.kro.run/drift-added-fields"
DRIFT_IGNORE = "gitops.kro.run/drift-ignore"
READINESS = "gitops.kro.run/readiness"

# Annotations people set on what stands in git.
WAVE = "gitops.kro.run/wave"
DEPENDS_ON = "gitops.kro.run/depends-on"
FORCE = "gitops.kro.run/force"
PRUNE = "gitops.kro.run/prune"
PRUNE_APPROVED = "gitops.kro.run/prune-approved"

# Ours, on an instance: children that are no longer desired, and wait for approval.
HELD_CHILDREN = "gitops.kro.run/held-children"

# The whole object once more, as `kubectl apply` leaves it.
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

# Apply sets (KEP-3659), as kubectl knows them.
APPLYSET_ID = "applyset.kubernetes.io/id"
APPLYSET_PART_OF = "applyset.kubernetes.io/part-of"
APPLYSET_TOOLING = "applyset.kubernetes.io/tooling"
APPLYSET_GROUP_KINDS = "applyset.kubernetes.io/contains-group-kinds"
APPLYSET_NAMESPACES = "applyset.kubernetes.io/additional-namespaces"
INVENTORY_HASH = "internal.kro.run/applyset-inventory-hash"

# On children: an annotation of kro's, and a label of ours that says what was last applied. Not an
# annotation, because another annotation is another generation of a Deployment.
APPLY_ORDER = "internal.kro.run/apply-order"
DESIRED_HASH = "gitops.kro.run/desired-hash"

# In whose name fields are owned: kro's name on children, so that either may change the other's.
CHILD_MANAGER = "kro.run/applyset"
INSTANCE_MANAGER = "gitops.kro.run/instance"

# Ours: where an object came from.
SOURCE = "gitops.kro.run/source"
REVISION = "gitops.kro.run/revision"
SOURCE_PATH = "gitops.kro.run/path"

# Ours, on what a source applied: a label that says what that was, and whose the fields are.
SOURCE_HASH = "gitops.kro.run/source-hash"
SOURCE_MANAGER = "kro-gitops/source"
# On inventories: whose they are.
SOURCE_NAME = "gitops.kro.run/source-name"
SOURCE_FINALIZER = "gitops.kro.run/finalizer"

# On a source that was suspended: why, for those who wonder.
SUSPEND_REASON = "gitops.kro.run/suspend-reason"

# On an object that a pin of its source holds: the commit.
PINNED_TO = "gitops.kro.run/pinned"

# On a source: a pin, as JSON, whose effect is to be planned; the answer is `status.plan`.
PLAN_REQUEST = "gitops.kro.run/plan-request"

# Flux's: a new value asks for a reconcile at once.
REQUESTED_AT = "reconcile.fluxcd.io/requestedAt"

# Argo CD's, copied byte for byte from an instance to its children.
ARGOCD_PREFIX = "argocd.argoproj.io/"
ARGOCD_TRACKING_ID = "argocd.argoproj.io/tracking-id"
ARGOCD_INSTALLATION_ID = "argocd.argoproj.io/installation-id"
ARGOCD_SYNC_OPTIONS = "argocd.argoproj.io/sync-options"
ARGOCD_COMPARE_OPTIONS = "argocd.argoproj.io/compare-options"
