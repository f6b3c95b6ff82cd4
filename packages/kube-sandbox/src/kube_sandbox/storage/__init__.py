"""Stored objects: in memory, with an append-only journal in SQLite."""
