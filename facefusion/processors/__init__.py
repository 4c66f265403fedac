"""What can be done to a frame, one folder each."""
