"""Tables and trees of sources, definitions and instances."""
