"""HTTP listeners: probes, metrics, webhooks."""
