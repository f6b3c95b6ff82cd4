"""
What the built-in kinds do with their objects.

Pure but for reading the data file beside it. A file holds a kind or a few that belong together;
`registry` gathers them.
"""
