"""Admission: policies and the plugins that are on by default."""
