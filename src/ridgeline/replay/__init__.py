"""Replay: recorded requests sent again, compared, and reduced to the smallest input that still fails."""
