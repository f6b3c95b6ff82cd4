"""Names of feature gates that several layers read."""

OMIT_GATE = "CELOmitFunction"
