"""
What a forge's call says: is it genuine, which repository and refs does it name.

A genuine call means «look now», and nothing else: what it names only decides whom to wake. The
door is `kro_gitops.source.webhooks.receive`.
"""
