"""How well `ridgeline diagnose` sees what the lab did: grid, arms, measures, floors, the accuracy page."""
