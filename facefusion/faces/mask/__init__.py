"""Which part of a face is changed."""
