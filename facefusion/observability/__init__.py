"""Events and where they go."""
