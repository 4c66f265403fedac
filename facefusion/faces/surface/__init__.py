"""The surface of a face: the mesh unwrapped, and what lies over its skin."""
