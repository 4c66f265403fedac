"""Telling whose face it is."""
