"""Judging how faces are found, followed and told apart, on any photos and clips."""
