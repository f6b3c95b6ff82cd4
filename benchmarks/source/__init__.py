"""
The source controller, measured: from a commit to what it wants in the cluster.

Each part has a control plane and a git server of its own. What git and the API server take by
themselves is measured in the same run, beside ours: only ratios to it say something.
"""
