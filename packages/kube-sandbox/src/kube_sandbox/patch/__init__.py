"""JSON Patch, merge patch and strategic merge patch."""
