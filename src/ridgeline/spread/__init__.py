"""Past one machine: the same functions as Ray tasks (extra `ray`)."""
