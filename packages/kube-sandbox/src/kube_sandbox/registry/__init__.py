"""Strategies: how objects of each kind are defaulted, validated and updated."""
