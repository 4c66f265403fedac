"""Finding, following and choosing faces."""
