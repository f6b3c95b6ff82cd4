"""Logs, metrics, and text that is safe to print."""
