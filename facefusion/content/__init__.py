"""The content filter."""
