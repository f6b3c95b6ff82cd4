"""
From a definition to a graph: nodes, their expressions, who needs whom.

`build` is the door. Everything is worked out from values: the definition, and a
`schema_of(kind)` that says what a kind looks like.
"""
