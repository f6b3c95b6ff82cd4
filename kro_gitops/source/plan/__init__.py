"""
The one planner of a source: values in, a plan out; no network, disk or clock.
"""
