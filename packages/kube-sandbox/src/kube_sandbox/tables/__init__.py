"""
Objects as tables (`kubectl get`) and as metadata alone: what a client may ask for instead.

Columns and cells are the API server's. Everything is pure; ages are counted from the `now` that is
given.
"""
