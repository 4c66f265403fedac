"""Enlarge whole frames."""
