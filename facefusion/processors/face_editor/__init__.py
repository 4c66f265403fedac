"""Face editor."""
