"""The families of face enhancing models."""
