"""How a platform wants children labelled and stamped, read off the settings."""

from kro_gitops.engine.plan.children import Rules
from kro_gitops.settings.settings import Settings
from kro_gitops.tracking.methods import ArgoCD
from kro_gitops.tracking.stamp import Policy


def child_rules(settings: Settings) -> Rules:
    """Return the rules that the controller and `render` stamp children by."""
    argocd = ArgoCD(settings.argocd_tracking_method, settings.argocd_label_key)
    policy = Policy(settings.tracking_mode, argocd, settings.propagate_labels)
    return Rules(
        settings.kro_version,
        policy,
        settings.adoption_policy,
        retains_claims=settings.retain_persistent_volume_claims,
    )
