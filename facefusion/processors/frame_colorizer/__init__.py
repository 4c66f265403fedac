"""Frame colorizer."""
