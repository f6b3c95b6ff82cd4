"""
Field ownership: server-side apply, and the entries of `metadata.managedFields`.

Values in, values out; the caller passes the field manager, the time and the version. `manager` is
the public module; the others implement it.
"""
