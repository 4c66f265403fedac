"""Lip syncer."""
