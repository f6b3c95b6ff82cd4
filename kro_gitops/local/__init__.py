"""The sandbox API server as a child process, its data directory and snapshots."""
