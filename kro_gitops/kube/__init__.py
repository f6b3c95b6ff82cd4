"""
Talk to a cluster.

The one door: other packages use the protocols of `kube.api` and never see HTTP. Objects are
dicts, in and out. What a request looks like and what an answer means is worked out without a
network (`requests`, `responses`); the rest reads and writes the world.
"""
