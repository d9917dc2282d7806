"""Rows to a bundle: ingest, joins, clocks, redaction, and the view everything above asks."""
