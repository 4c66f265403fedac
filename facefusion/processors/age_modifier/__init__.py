"""Age modifier."""
