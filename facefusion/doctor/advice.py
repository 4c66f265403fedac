"""From the facts of a machine to the settings that suit it. A pure function; whoever calls it looks at the machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from facefusion.core.storage import in_units
from facefusion.doctor.graphics import Unit
from facefusion.inference.devices import Gpu, GpuClass, classify, roomiest
from facefusion.media.settings import LEAST_SCALE
from facefusion.memory.budget import GIB, automatic_workers
from facefusion.memory.machine import Machine

OTHER_ACCELERATORS = ("rocm", "migraphx", "coreml", "openvino", "qnn", "directml", "cann")
"""Providers beside NVIDIA's, in the order in which they are preferred."""

AMPLE = 16 * GIB
"""Bytes free on a card from which all models are kept loaded. An estimate, not measured on a card."""
TIGHT = 6 * GIB
"""Bytes free on a card below which models are released early. An estimate, not measured on a card."""
LITTLE_RAM = 8 * GIB

HEIGHT_OF_CORES = ((4, 720), (32, 1080))
"""Up to how many processors, not counting that, which height of videos is advised where they do everything. Measured
on two, face swap with x264: 3 to 5 frames/s at 2160p, 7 to 10 at 1080p, 11 to 14 where 2160p is made 720p."""


class Kind(Enum):
    """What graphs run on, by what it is made for."""

    DATACENTRE = "a datacentre card"
    RTX = "an RTX card"
    OTHER = "a card of another kind"
    INTEGRATED = "the processor's own graphics"
    NONE = "no graphics card that works"


@dataclass(frozen=True, slots=True)
class Facts:
    """What advice depends on."""

    machine: Machine
    gpus: tuple[Gpu, ...] = ()
    """NVIDIA cards, numbered as CUDA counts them."""
    units: tuple[Unit, ...] = ()
    """Graphics units and accelerators of every maker."""
    usable: tuple[str, ...] = ("cpu",)
    """Execution providers that were tried and work."""

    def within(self, providers: Sequence[str], device_ids: Sequence[int]) -> Facts:
        """The facts as far as the user's own choice of providers and devices leaves them; empty leaves all."""
        usable = tuple(name for name in self.usable if not providers or name in providers)
        gpus = tuple(gpu for gpu in self.gpus if not device_ids or gpu.index in device_ids)
        return replace(self, usable=usable, gpus=gpus)


@dataclass(frozen=True, slots=True)
class Setting:
    """A value to give an option, and why."""

    option: str
    value: object
    reason: str


@dataclass(frozen=True, slots=True)
class Advice:
    """The settings that suit a machine."""

    kind: Kind
    name: str
    """Of what graphs run on; empty where it has none."""
    settings: tuple[Setting, ...]
    height: int | None
    """Lines of a video above which it should be made smaller; none where any size will do."""
    height_reason: str = ""
    note: str = ""
    """What to do first, where better advice can be had then."""

    def scale(self, lines: int) -> float | None:
        """Value for ``output_video_scale`` where the target has so many lines; none where it stays as it is.

        Args:
            lines: the shorter side, in pixels.
        """
        if self.height is None or lines <= self.height:
            return None
        return max(LEAST_SCALE, round(self.height / lines, 4))


def advise(facts: Facts) -> Advice:
    """The settings that suit a machine."""
    if "cuda" in facts.usable or "tensorrt" in facts.usable:
        return _for_nvidia(facts)
    other = next((name for name in OTHER_ACCELERATORS if name in facts.usable), None)
    return _for_other(facts, other) if other else _for_processor(facts)


def _for_nvidia(facts: Facts) -> Advice:
    best = roomiest(facts.gpus)
    kind = _kind_of(best)
    cards = _alike(best, facts.gpus)
    total = None if best is None else best.total_memory
    has_little = kind is Kind.OTHER and total is not None and total < LITTLE_RAM
    return Advice(
        kind=kind,
        name="" if best is None else best.name,
        settings=(
            _nvidia_providers(kind, facts.usable),
            *_devices(best, cards),
            _threads(facts.machine, on_gpu=True),
            _nvidia_precision(kind, facts.usable),
            _nvidia_strategy(kind, cards),
        ),
        height=1080 if has_little else None,
        height_reason="the card has little memory, and encoding and face models share it" if has_little else "",
    )


def _kind_of(gpu: Gpu | None) -> Kind:
    kinds = {GpuClass.DATACENTRE: Kind.DATACENTRE, GpuClass.PROSUMER: Kind.RTX}
    return kinds.get(classify(gpu), Kind.OTHER)


def _alike(best: Gpu | None, gpus: Sequence[Gpu]) -> tuple[Gpu, ...]:
    """Cards that can share the work: of one model, with at least half of the memory that the roomiest has free."""
    if best is None:
        return ()
    enough = (best.free_memory or 0) // 2
    return tuple(
        gpu for gpu in gpus if gpu.name == best.name and (gpu.free_memory is None or gpu.free_memory >= enough)
    )


def _nvidia_providers(kind: Kind, usable: Sequence[str]) -> Setting:
    if kind is Kind.DATACENTRE and "tensorrt" in usable:
        reason = "engines compiled for the card are the quickest; each graph is compiled once, for tens of seconds"
        names: tuple[str, ...] = ("tensorrt", "cuda", "cpu")
    else:
        names = ("cuda", "tensorrt", "cpu")
        reason = {
            Kind.DATACENTRE: "tensorrt would be quicker still, and does not work here",
            Kind.RTX: "quick from the first frame; put tensorrt first for long videos and from 2160p on",
        }.get(kind, "quick from the first frame")
    chosen = tuple(name for name in names if name in usable)
    # TensorRT behind CUDA would never have its turn.
    if chosen[:1] == ("cuda",):
        chosen = tuple(name for name in chosen if name != "tensorrt")
    return Setting("execution_providers", chosen, reason)


def _devices(best: Gpu | None, cards: Sequence[Gpu]) -> tuple[Setting, ...]:
    if best is None:
        return ()
    if len(cards) > 1:
        reason = f"{len(cards)} cards alike share the frames"
        return (Setting("execution_device_ids", tuple(gpu.index for gpu in cards), reason),)
    return (Setting("execution_device_ids", (best.index,), "the card with most free memory"),)


def _nvidia_precision(kind: Kind, usable: Sequence[str]) -> Setting:
    if kind is Kind.OTHER:
        return Setting("inference_precision", "auto", "the card gains nothing from half precision that is known")
    beside = "" if "tensorrt" in usable else "; cuda keeps to the precision of each model's file"
    reason = f"half the memory and twice the speed on its tensor cores, with hardly a visible difference{beside}"
    return Setting("inference_precision", "half", reason)


def _nvidia_strategy(kind: Kind, cards: Sequence[Gpu]) -> Setting:
    shared = [gpu for gpu in cards if gpu.free_memory is not None and gpu.free_memory * 2 < (gpu.total_memory or 0)]
    free = min((gpu.free_memory for gpu in cards if gpu.free_memory is not None), default=None)
    if shared:
        taken = (shared[0].total_memory or 0) - (shared[0].free_memory or 0)
        reason = f"other programs hold {in_units(taken)} of card {shared[0].index}"
        return Setting("video_memory_strategy", "conservative", reason)
    if free is None:
        return Setting("video_memory_strategy", "balanced", "the card does not tell what it has free")
    if free < TIGHT:
        return Setting("video_memory_strategy", "conservative", f"the card has {in_units(free)} free")
    if kind is Kind.DATACENTRE and free >= AMPLE:
        return Setting("video_memory_strategy", "aggressive", f"all models fit into the {in_units(free)} free")
    return Setting("video_memory_strategy", "balanced", f"the card has {in_units(free)} free")


def _for_other(facts: Facts, provider: str) -> Advice:
    units = facts.units
    integrated = bool(units) and all(unit.is_integrated for unit in units)
    kind = Kind.INTEGRATED if integrated else Kind.OTHER
    half = provider == "cann"
    behind = ("cpu",) if "cpu" in facts.usable else ()
    precision = (
        Setting("inference_precision", "half", "half precision is what these cards are quick at")
        if half
        else Setting("inference_precision", "auto", "what the provider does by itself")
    )
    return Advice(
        kind=kind,
        name=", ".join(dict.fromkeys(str(unit) for unit in units)),
        settings=(
            Setting("execution_providers", (provider, *behind), "the provider that works with this hardware"),
            _threads(facts.machine, on_gpu=True),
            precision,
            _ram_strategy(facts.machine),
        ),
        height=1080 if integrated else None,
        height_reason="it shares memory and heat with the processor, which decodes and encodes" if integrated else "",
    )


def _for_processor(facts: Facts) -> Advice:
    machine = facts.machine
    height = next((height for cores, height in HEIGHT_OF_CORES if machine.cores < cores), None)
    return Advice(
        kind=Kind.NONE,
        name="",
        settings=(
            Setting("execution_providers", ("cpu",), "no other provider works here"),
            _threads(machine, on_gpu=False),
            Setting("inference_precision", "auto", "processors compute in full precision"),
            _ram_strategy(machine),
        ),
        height=height,
        height_reason=""
        if height is None
        else "the processor does everything, and a video of 2160p takes it about three times as long as one of 720p",
        note=_what_else(facts),
    )


def _what_else(facts: Facts) -> str:
    """Names hardware that is here and that no provider runs on."""
    names = [gpu.name for gpu in facts.gpus] or [str(unit) for unit in facts.units]
    if not names:
        return ""
    return f"{' and '.join(dict.fromkeys(names))} could do the work: see what stands in its way above, then ask again"


def _threads(machine: Machine, *, on_gpu: bool) -> Setting:
    count = automatic_workers(machine, on_gpu=on_gpu)
    cores = f"{machine.cores:g} {'processor' if machine.cores == 1 else 'processors'}"
    reason = (
        f"twice the {cores}, up to 32: threads mostly wait for the device" if on_gpu else f"one for each of {cores}"
    )
    return Setting("execution_thread_count", count, reason)


def _ram_strategy(machine: Machine) -> Setting:
    value = "conservative" if machine.memory < LITTLE_RAM else "balanced"
    return Setting("video_memory_strategy", value, f"there are {in_units(machine.memory)} of memory")
