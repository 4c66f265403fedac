"""What ``scripts/measure_performance.py`` is made of."""
