"""The one list of execution providers."""

from __future__ import annotations

from collections.abc import Iterable

from facefusion.inference.providers.base import Provider
from facefusion.inference.providers.cann import CANN
from facefusion.inference.providers.coreml import COREML
from facefusion.inference.providers.cpu import CPU
from facefusion.inference.providers.cuda import CUDA
from facefusion.inference.providers.directml import DIRECTML
from facefusion.inference.providers.migraphx import MIGRAPHX
from facefusion.inference.providers.openvino import OPENVINO
from facefusion.inference.providers.qnn import QNN
from facefusion.inference.providers.rocm import ROCM
from facefusion.inference.providers.tensorrt import TENSORRT


class ProviderRegistry:
    """Execution providers by name, in the order in which an automatic choice tries them.

    Raises:
        ValueError: two providers share a name.
    """

    def __init__(self, providers: Iterable[Provider]) -> None:
        self._providers: dict[str, Provider] = {}
        for provider in providers:
            if provider.name in self._providers:
                raise ValueError(f"execution provider {provider.name!r} is registered twice")
            self._providers[provider.name] = provider

    def __getitem__(self, name: str) -> Provider:
        return self._providers[name]

    @property
    def names(self) -> tuple[str, ...]:
        """What users may type."""
        return tuple(self._providers)

    @property
    def all(self) -> tuple[Provider, ...]:
        """All providers, best first."""
        return tuple(self._providers.values())


PROVIDERS = ProviderRegistry(
    (
        CUDA,
        TENSORRT,
        ROCM,
        MIGRAPHX,
        COREML,
        OPENVINO,
        QNN,
        DIRECTML,
        CANN,
        CPU,
    )
)
