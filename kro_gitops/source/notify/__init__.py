"""Notifications about a source: what is news, the messages, and how they are sent."""
