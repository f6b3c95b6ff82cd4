"""
Other CEL engines for Python, each in a process of its own.

They are spoken to in JSON lines (`serving`), so an engine that needs another interpreter, or takes
its process down, is a peer like any other. Nothing in here but `processes` may import ours.
"""
