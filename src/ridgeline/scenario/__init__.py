"""Scenarios: traffic without content, and where it comes from."""
