"""The discrete-event engine: numba over record arrays, integer picoseconds, event to event."""
