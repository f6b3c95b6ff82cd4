"""How CustomResourceDefinitions are validated and stored."""
