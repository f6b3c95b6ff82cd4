"""
The functions an expression can call, one module a family.

A module exports two tables. `GLOBALS` maps a name (`size`, `hash.sha256`) to its implementation;
`MEMBERS` maps (name, receiver's type name) to one, so that families can share a name
(`indexOf` of strings and of lists). Implementations take the evaluated arguments, receiver
first, and refuse wrong types with `no_such_overload`. Signatures live in `cel.signatures`.
"""
