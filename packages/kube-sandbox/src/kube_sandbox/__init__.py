"""
A Kubernetes API server in one Python process, on a store of its own.

It has never heard of kro, Argo CD or git: whoever uses it does so over HTTP, as with any other
cluster, and `kubectl` is a client like any. What a real API server answers is right; where this
one answers otherwise it is wrong, or the difference is written down.
"""

__version__ = "0.1.0"
