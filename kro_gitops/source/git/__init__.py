"""Git at arm's length: bare mirrors, read without ever checking anything out."""
