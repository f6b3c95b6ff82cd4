"""Why an instance or a definition is not ready, and what to do about it."""
