"""Make faces clearer."""
