"""
The kinds of kro's own API and of CRDs, without their schemas: those take time to build, and most
verbs of the command line need only the names.
"""

from kro_gitops.metadata import INTERNAL_GROUP, KRO_GROUP
from kube_objects.refs import Kind

DEFINITION_KIND = Kind(KRO_GROUP, "v1alpha1", "ResourceGraphDefinition")
REVISION_KIND = Kind(INTERNAL_GROUP, "v1alpha1", "GraphRevision")
CRD_KIND = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
