"""Draw what the face analysis sees."""
