"""
A tenant that behaves badly, and what its neighbour notices: `python -m benchmarks neighbours`.

Tenant B is the small repository of `benchmarks.source`; tenant A has a namespace of its own.
"""
