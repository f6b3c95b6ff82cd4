"""Hypothesis without deadlines: how long an example takes depends on the load of the machine."""

from hypothesis import settings

settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")
