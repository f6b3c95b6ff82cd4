"""
Plans an instance: graph and instance in, desired children out.

Pure: the state of other nodes is a parameter. With live objects, missing data means that a node
waits; offline it means "known after apply".
"""
