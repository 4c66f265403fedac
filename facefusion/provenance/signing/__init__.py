"""Signed manifests: whose key signs, what is said, and how it gets into a file."""
