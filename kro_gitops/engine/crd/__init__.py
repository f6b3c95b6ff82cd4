"""CustomResourceDefinitions: built from a definition, compared with the one in the cluster."""
