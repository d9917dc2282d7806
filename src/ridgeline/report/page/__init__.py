"""The page: one self-contained file, or the same live on loopback. Drawn from figures; asks nothing itself."""
