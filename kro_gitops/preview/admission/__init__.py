"""
What the API server answers to the apply of a child that it does not accept.

Without a server, so only what follows from the object and its schema. Code and text are those of
the server's response.
"""
