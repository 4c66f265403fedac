"""Animated images: GIF, animated PNG and WebP, with the delay of each frame and the number of plays kept exactly."""

from facefusion.media.animation.facts import AnimationFacts, animation_facts
from facefusion.media.animation.read import AnimationReader
from facefusion.media.animation.write import write_animation

__all__ = ["AnimationFacts", "AnimationReader", "animation_facts", "write_animation"]
