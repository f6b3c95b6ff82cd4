"""
From a typed tree to closures.

Each node becomes a `Step`, a function of a frame: the list that holds the budget, the variables of
the data and those of loops. Everything that follows from the tree and its types is decided here,
once, so that a step does little. Types only select a fast path: a step still checks the values it
reads, because data may contradict its schema.
"""
