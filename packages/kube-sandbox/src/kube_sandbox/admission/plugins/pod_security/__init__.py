"""Pod Security admission and its standards."""
