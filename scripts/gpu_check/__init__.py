"""What ``scripts/check_gpu.py`` is made of."""
