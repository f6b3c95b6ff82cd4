"""The strategy of Pods and of Pod templates."""
