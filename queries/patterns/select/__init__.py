"""A request as one SELECT."""
