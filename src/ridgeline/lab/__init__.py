"""The lab: a serving system in virtual time that leaves real formats on disk, faults on a switch, and the score."""
