"""The strategy of Services."""
