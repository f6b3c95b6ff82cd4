"""
Webhook calls of forges: authentication, and the repository and refs that a call names.

An authenticated call means "poll now" and nothing else: what it names only decides which sources
are polled. The entry point is `kro_gitops.source.webhooks.receive`.
"""
