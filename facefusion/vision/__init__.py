"""Array mathematics on pictures: geometry, warping, colour, blending. Pure functions and picture types."""
