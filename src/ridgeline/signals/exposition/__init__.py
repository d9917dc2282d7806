"""Prometheus text exposition: one scrape or many → `scrapes`, `series`, `samples`, `histograms`."""

from ridgeline.signals.exposition.reader import read

__all__ = ["read"]
