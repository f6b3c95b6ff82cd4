"""
The admission plugins that kube-apiserver enables by default, one or two per module.

A plugin may change a new object after defaulting (`mutate`) and reject an object that is about to
be stored (`validate`). It looks up other objects through its `AdmissionContext` only;
`registration` maps kinds to plugins, in the order in which they run.
"""
