"""
Keep calling reconcile: queue, outcome, loop, lease.

How often and when, never what. This package knows keys and outcomes; what a key stands for, and
what happens when it is worked on, is another owner's.
"""
