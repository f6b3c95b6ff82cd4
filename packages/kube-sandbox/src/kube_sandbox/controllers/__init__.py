"""Controllers of stored objects: garbage collection, namespaces, CRDs, workloads."""
