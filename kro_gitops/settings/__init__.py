"""Flags, environment and defaults become one `Settings` value."""
