"""
What a repository's files would become, without a cluster.

The second user of the engine's planner, and the proof that it is pure: everything here is worked
out from files and schemas.
"""
