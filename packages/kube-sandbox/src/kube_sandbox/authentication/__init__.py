"""Users: client certificates, service account tokens, impersonation."""
