"""The HTTP API: accepts and answers, and leaves the work to workers."""
