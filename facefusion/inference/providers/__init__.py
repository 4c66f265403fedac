"""Execution providers, one file each."""
