"""
CustomResourceDefinitions, and the objects of the kinds they define.

Pure: objects in, objects and errors out. What is right is what the API server's extension part
does, to the words of its messages. The kinds that are built in are elsewhere.
"""
