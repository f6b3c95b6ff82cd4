"""
Who set which field of an object: server-side apply, and the notes in `metadata.managedFields`.

Values in, values out; whoever calls says who writes, when and under which version. `manager` is
the way in; everything else here serves it.
"""
