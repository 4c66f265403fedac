"""The program as a service: an HTTP API, a queue of jobs, and workers."""
