from __future__ import annotations

import subprocess
import sys

from facefusion.inference.execution import Execution
from facefusion.inference.pool import MemoryStrategy
from facefusion.inference.providers.registry import PROVIDERS
from facefusion.inference.settings import ExecutionSettings, InferenceSettings
from facefusion.memory.settings import MemorySettings


def test_the_defaults_are_those_that_were_settled():
    execution, inference, memory = ExecutionSettings(), InferenceSettings(), MemorySettings()
    assert (execution.execution_providers, execution.execution_device_ids) == ((), ())
    assert (execution.execution_thread_count, execution.execution_queue_count) == (0, 0)
    assert (inference.session_idle_minutes, inference.inference_gate_count, inference.gpu_memory_limit) == (30, 0, 0)
    assert (memory.video_memory_strategy, memory.system_memory_limit) == ("balanced", 0)


def test_every_strategy_that_can_be_asked_for_exists():
    from facefusion.config.option import METADATA_KEY

    field = MemorySettings.__dataclass_fields__["video_memory_strategy"]
    declared = field.metadata[METADATA_KEY]
    assert set(declared.choices) == {strategy.value for strategy in MemoryStrategy}
    assert declared.value_aliases == {"strict": "conservative", "moderate": "balanced", "tolerant": "aggressive"}


def test_an_execution_on_the_cpu_alone_is_not_on_a_gpu():
    from tests.inference.fakes import execution

    assert isinstance(execution(), Execution)
    assert [name for name in PROVIDERS.names if execution(name).on_gpu] == list(PROVIDERS.names[:-1])


def test_reading_the_options_does_not_load_onnx_runtime():
    program = "import sys, facefusion.inference.settings; print('onnxruntime' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["False", "False"]
