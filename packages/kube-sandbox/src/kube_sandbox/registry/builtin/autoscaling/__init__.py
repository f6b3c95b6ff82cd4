"""Strategies and versions of HorizontalPodAutoscalers."""
