"""Which models exist, where they come from, and how they are verified and converted."""
