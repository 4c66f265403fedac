"""Measuring whole runs."""
