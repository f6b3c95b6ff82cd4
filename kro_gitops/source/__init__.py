"""
From a git revision to objects in the cluster.

Everything here is pure but `fetch/` and `controller.py`. It may use the engine's knowledge of
definitions, never its loops; the engine does not know git.
"""
