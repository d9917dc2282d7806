"""Ridgeline: from an LLM-serving incident symptom to its root cause."""

__version__ = "0.1.0"
