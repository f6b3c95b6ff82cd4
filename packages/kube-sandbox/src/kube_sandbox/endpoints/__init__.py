"""Verbs on resources: what a request asks for and what is answered."""
