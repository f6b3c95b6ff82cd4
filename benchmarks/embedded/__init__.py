"""The API server that comes with kro-gitops beside a real one with etcd, on the same machine."""
