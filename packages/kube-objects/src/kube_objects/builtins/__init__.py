"""
The kinds every cluster has, known without one.

Pure but for reading the data files beside it, which `tools/package_data/catalog.py` writes.
"""
