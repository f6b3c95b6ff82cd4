"""
What a Kubernetes object is: plain data, and questions about it.

Everything here is pure and knows nothing of kro, git or a cluster.
"""

__version__ = "0.1.0"
