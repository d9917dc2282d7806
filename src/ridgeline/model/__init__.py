"""Types that cross borders between rooms: table shapes, facts, causes, the diagnosis. Standard library only."""
