"""What happened to an object, in one chronological list."""
