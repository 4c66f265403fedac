"""Budgets, meters and hard limits of memory; the size of this machine."""
