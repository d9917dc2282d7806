"""Live servers to raw files: read-only polling. What is written is read by the same readers as any other source."""
