"""Reading the dense mesh of a face."""
