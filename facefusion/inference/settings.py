"""Options of running graphs."""

from __future__ import annotations

from facefusion.config.option import EXECUTION_COMMANDS, Scope, option, settings_group
from facefusion.inference.providers.registry import PROVIDERS


@settings_group(section="execution", commands=(*EXECUTION_COMMANDS, "doctor"))
class ExecutionSettings:
    """Where graphs run and how many frames at once."""

    execution_device_ids: tuple[int, ...] = option(
        (),
        "numbers of the devices to run on (default: the one with most free memory); with several, each holds all "
        "models and takes its share of the frames",
        scope=Scope.JOB,
        minimum=0,
        aliases=("execution_device_id",),
    )
    execution_providers: tuple[str, ...] = option(
        (),
        "execution providers in order of preference, the first that works is used (default: the best that works, "
        "then cpu)",
        choices=PROVIDERS.names,
        scope=Scope.JOB,
    )
    execution_thread_count: int = option(
        0,
        "threads that work on frames (0 = automatic from cores, memory and provider)",
        minimum=0,
        maximum=128,
        scope=Scope.JOB,
    )
    execution_queue_count: int = option(
        0,
        "frames worked on together: their faces share runs of graphs that take several, which keeps a GPU busy at the "
        "price of memory (0 = automatic: 1)",
        minimum=0,
        maximum=64,
        scope=Scope.JOB,
        own=True,
    )


@settings_group(section="inference", commands=(*EXECUTION_COMMANDS, "doctor"))
class InferenceSettings:
    """How sessions are made and shared."""

    inference_gate_count: int = option(
        0,
        "graphs that may run on a device at once, over all processes on a card that keep their caches in one folder "
        "(0 = one for each 2 GB of its free memory, up to 8, fewer where models leave less, 4 where the device does "
        "not tell)",
        minimum=0,
        maximum=64,
        scope=Scope.JOB,
        own=True,
    )
    inference_precision: str = option(
        "auto",
        "precision to compute in: auto is half with tensorrt and qnn, full elsewhere, where cuda may round factors to "
        "10 bits of mantissa (TF32); full keeps cuda, but not tensorrt, from that; half makes copies of the graphs for "
        "cuda",
        choices=("auto", "full", "half"),
        scope=Scope.JOB,
        own=True,
    )
    inference_cuda_graphs: bool = option(
        False,
        "with cuda: record what each model launches on the card once for each size of its inputs, and replay it; saves "
        "the processor work, and runs of one model go one after the other",
        scope=Scope.JOB,
        own=True,
    )
    gpu_memory_limit: float = option(
        0.0,
        "video memory in GB that a run may take per device, such as 5.5, divided among its models; refused at the "
        "start where they do not fit (0 = what is free)",
        minimum=0,
        maximum=1024,
        scope=Scope.JOB,
        own=True,
    )
    session_idle_minutes: int = option(
        30,
        "minutes after which a model that nothing uses is released (0 = never)",
        minimum=0,
        maximum=1440,
        scope=Scope.JOB,
        own=True,
    )
