"""The HTTP face of a running controller: it shows what is so, and decides nothing."""
