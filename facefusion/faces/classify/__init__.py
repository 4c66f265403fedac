"""Telling gender, age and group of a face by its looks."""
