"""
The worst-case cost of an expression, estimated from its text and the sizes of the data it reads.

The API server rejects validation rules by this estimate, so it equals that of cel-go and Kubernetes
exactly. It knows nothing of schemas: the caller supplies the maximum sizes of values by path.
"""
