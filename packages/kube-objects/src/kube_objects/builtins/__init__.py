"""
The kinds every cluster has, known without a cluster.

Pure, except for reading the data files in this folder, which `tools/package_data/catalog.py`
writes.
"""
