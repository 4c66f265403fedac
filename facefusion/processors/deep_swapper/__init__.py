"""Deep swapper."""
