"""
From a graph and an instance to the objects it asks for.

Pure: what other nodes look like is handed in. Live, missing data means «wait»; offline it
means «known after apply».
"""
