"""
Strategies of the built-in kinds.

Pure but for the data files beside it. A module holds one kind or a few related ones; `registry`
collects them.
"""
