"""Background remover."""
