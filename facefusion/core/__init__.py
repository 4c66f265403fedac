"""Values and errors that every other package speaks in. Imports nothing but numpy."""
