"""kro-gitops: from a git commit to kro instances and their children."""

__version__ = "0.1.0"
