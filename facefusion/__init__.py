"""FaceFusion: swap and enhance faces in images and videos."""

__version__ = "4.0.0"
