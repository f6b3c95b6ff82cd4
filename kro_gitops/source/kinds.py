"""
The kinds of our own API, without their schemas: those take time to build, and most verbs of the
command line need only the names.
"""

from kro_gitops.metadata import GITOPS_GROUP
from kube_objects.refs import Kind

GIT_SOURCE_KIND = Kind(GITOPS_GROUP, "v1alpha1", "GitSource")
SOURCE_INVENTORY_KIND = Kind(GITOPS_GROUP, "v1alpha1", "SourceInventory")
