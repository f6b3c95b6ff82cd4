"""RBAC, privilege escalation checks and access reviews."""
