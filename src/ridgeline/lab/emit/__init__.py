"""What a server shows, as text and bytes: one file per format, plain functions from frozen records (SIGNALS)."""
