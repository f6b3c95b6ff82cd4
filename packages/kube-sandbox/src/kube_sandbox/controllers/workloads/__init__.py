"""
What a cluster's controllers and nodes would do, pretended: pure plans from objects to steps.

A plan never does anything itself. It gets an object, what it owns and what else it sees, and the
time; it says what is to be created, changed and deleted now, and when there is more to do.
"""
