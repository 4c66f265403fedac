"""Finding faces: detectors, and the search that runs them on whole pictures."""
