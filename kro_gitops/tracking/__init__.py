"""
Whose object is this, and what must it carry so that Argo CD agrees.

The question is asked in several places and must get one answer. All tables, no I/O: this package
knows Argo CD's rules and Kubernetes' owner references, and nothing of definitions or graphs.
"""
