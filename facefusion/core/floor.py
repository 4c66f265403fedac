"""The least that a run can cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Floor:
    """Seconds that the networks, kernels and codecs of a run take on its machine with nothing else going on.

    Each is measured by itself, with all cores at its service.
    """

    networks: Mapping[str, float]
    """By model: all its runs."""
    kernels: float
    """What stands in the place of a network where a model is code."""
    transcode: float
    """Decoding the target once and encoding it once."""

    @property
    def seconds(self) -> float:
        """All of it, one after the other."""
        return sum(self.networks.values()) + self.kernels + self.transcode
