"""
The running engine, measured against a real API server.

Each part begins on a control plane of its own. What controllers ask of the API server is read from
its audit log, so it is exact, and the same count for whoever is measured. Times are wall clock,
because most of the work is done by others: compare them within one run only.
"""
