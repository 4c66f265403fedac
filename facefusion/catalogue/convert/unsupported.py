"""What to do about a graph that is beyond the converters. The models of the catalogue are all within."""

REPORT = "Please report this, with the model's name."
