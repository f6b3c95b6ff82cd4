"""
Keep calling reconcile: queue, outcome, loop, lease.

How often and when, never what. This package knows keys and outcomes, not what a key stands for or
what its reconcile does.
"""
