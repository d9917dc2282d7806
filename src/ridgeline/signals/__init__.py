"""Bytes to rows: which kind a source is (`detect`), then one reader per format. No reader knows a cause."""
