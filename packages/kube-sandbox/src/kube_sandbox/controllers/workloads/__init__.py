"""
Simulated workload controllers: pure functions from objects to steps.

A plan function gets an object, the objects it owns, related objects and the time. It returns the
steps to execute now (create, update, delete) and when to call it again; it executes nothing.
"""
