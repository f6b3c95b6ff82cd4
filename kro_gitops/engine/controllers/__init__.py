"""
The controllers of definitions, revisions and instances.

The only part of the engine that accesses a cluster: observe, plan, execute, report. The decisions
are in `engine.plan` and other pure modules.
"""
