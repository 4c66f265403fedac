"""Expression restorer."""
