"""Did the fix work: comparability first, then figures with intervals, then one verdict."""
