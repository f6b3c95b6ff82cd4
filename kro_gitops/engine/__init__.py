"""
From a definition and an instance to children and status: kro's job.

Everything here is pure; a cluster is never asked, schemas are handed in.
"""
