"""CEL validation rules of CustomResourceDefinitions and their cost limits."""
