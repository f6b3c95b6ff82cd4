"""
Definitions, revisions and instances, kept as they should be for as long as the cluster lives.

The only part of the engine that touches a cluster: read, plan, carry out, report. What is decided
is decided elsewhere.
"""
