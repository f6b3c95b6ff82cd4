"""
The functions an expression can call, one module per family.

A module exports two tables. `GLOBALS` maps a name (`size`, `hash.sha256`) to its implementation;
`MEMBERS` maps (name, type name of the receiver) to one, so that families can share a name
(`indexOf` of strings and of lists). Implementations take the evaluated arguments, receiver first,
and raise `no_such_overload` for wrong types. The signatures are in `kube_cel.signatures`.
"""
