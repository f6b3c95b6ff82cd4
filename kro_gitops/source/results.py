"""
The results of revisions in the history of a source, without the planner: the command line reads
them, and most of its verbs need no more of a source.
"""

# The results of a revision to which a source can go back; Applied: it does not wait for health.
HEALTHY_RESULTS = ("Healthy", "Applied")
