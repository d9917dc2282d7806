"""The step-time model, fitted from what a run's evidence says of its own requests."""
