"""Which files of a revision are manifests, and what they hold."""
