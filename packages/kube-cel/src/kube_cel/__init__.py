"""
The Common Expression Language, as kro and the Kubernetes API server speak it.

`engine` is the door: compile a text in an environment, get a program with a type, its
references and an `evaluate`. The package knows OpenAPI schemas and JSON, and has never
heard of a cluster. Why our own engine: docs/adr/0002.
"""

__version__ = "0.1.0"
