"""The shell of the sources: what reads and writes the world for them."""
