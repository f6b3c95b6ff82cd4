"""
From a typed tree to closures.

Each node becomes a `Step`, a function of a frame: the list that holds the budget, the
variables of the data and those of loops. What can be decided from the tree and its types is
decided here, once; a step then does as little as it can. Types only choose the quick way
through: a step still looks at the values it meets, because data may contradict its schema.
"""
