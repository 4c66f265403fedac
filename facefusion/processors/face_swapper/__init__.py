"""Puts the source's face in place of the target's."""
