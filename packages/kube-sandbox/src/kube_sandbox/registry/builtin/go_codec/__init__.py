"""Objects as the Go types of the API server decode and encode them."""
