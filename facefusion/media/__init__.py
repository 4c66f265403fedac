"""Reading and writing images and videos."""
