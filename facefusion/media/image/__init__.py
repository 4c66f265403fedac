"""Images: read upright and in their own depth, written with what belongs to them, atomically and verified."""

from facefusion.media.image.details import ImageDetails
from facefusion.media.image.facts import ImageFacts, image_facts
from facefusion.media.image.read import read_image, read_image_with_details
from facefusion.media.image.write import write_image

__all__ = ["ImageDetails", "ImageFacts", "image_facts", "read_image", "read_image_with_details", "write_image"]
