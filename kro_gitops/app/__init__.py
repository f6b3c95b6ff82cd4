"""The composition root: one process, its parts and how they are wired."""
