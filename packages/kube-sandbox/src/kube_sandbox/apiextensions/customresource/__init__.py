"""How custom resources are created, updated and shown."""
