"""Hands in front of a face."""
