"""
The admission plugins that a real API server has on by default, one to a file.

A plugin may change what is written, as it was sent and defaulted (`mutate`), and refuse what is
about to be stored (`validate`). It looks things up in its `Surroundings` and touches nothing else;
`table` says which plugins are asked about which kinds, and in which order.
"""
