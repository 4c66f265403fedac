"""The one list of processors.

Each entry names a processor, its settings group and the function that loads its code. Settings are imported here, since
the command line is derived from them; code comes in when it is used, so that ``--help`` does not wait for OpenCV.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, cast

from facefusion.core.errors import OptionError
from facefusion.processors.age_modifier.settings import AgeModifierSettings
from facefusion.processors.background_remover.settings import BackgroundRemoverSettings
from facefusion.processors.deep_swapper.settings import DeepSwapperSettings
from facefusion.processors.expression_restorer.settings import ExpressionRestorerSettings
from facefusion.processors.face_debugger.settings import FaceDebuggerSettings
from facefusion.processors.face_editor.settings import FaceEditorSettings
from facefusion.processors.face_enhancer.settings import FaceEnhancerSettings
from facefusion.processors.face_swapper.settings import FaceSwapperSettings
from facefusion.processors.frame_colorizer.settings import FrameColorizerSettings
from facefusion.processors.frame_enhancer.settings import FrameEnhancerSettings
from facefusion.processors.lip_syncer.settings import LipSyncerSettings, VoiceExtractorSettings

if TYPE_CHECKING:
    from facefusion.processors.base import ProcessorKind


@dataclass(frozen=True, slots=True)
class ProcessorEntry:
    """A processor by name."""

    name: str
    settings: type
    module: str
    """Module that holds the :class:`ProcessorKind` as ``KIND``."""

    def load(self) -> ProcessorKind:
        """Import the processor's code."""
        return cast("ProcessorKind", import_module(self.module).KIND)


PROCESSORS: tuple[ProcessorEntry, ...] = (
    ProcessorEntry("face_swapper", FaceSwapperSettings, "facefusion.processors.face_swapper.processor"),
    ProcessorEntry("deep_swapper", DeepSwapperSettings, "facefusion.processors.deep_swapper.processor"),
    ProcessorEntry("face_enhancer", FaceEnhancerSettings, "facefusion.processors.face_enhancer.processor"),
    ProcessorEntry("frame_enhancer", FrameEnhancerSettings, "facefusion.processors.frame_enhancer.processor"),
    ProcessorEntry("face_debugger", FaceDebuggerSettings, "facefusion.processors.face_debugger.processor"),
)


AWAITED_GROUPS: tuple[type, ...] = (
    AgeModifierSettings,
    BackgroundRemoverSettings,
    ExpressionRestorerSettings,
    FaceEditorSettings,
    FrameColorizerSettings,
    LipSyncerSettings,
    VoiceExtractorSettings,
)
"""Settings of processors that are not built yet. Ini and job files of FaceFusion name them all."""


def processor_names() -> tuple[str, ...]:
    """Names of all processors, in the order of the list."""
    return tuple(entry.name for entry in PROCESSORS)


def find_processor(name: str) -> ProcessorEntry:
    """The entry of a processor.

    Raises:
        OptionError: there is none of that name; the message names the nearest.
    """
    for entry in PROCESSORS:
        if entry.name == name:
            return entry
    near = get_close_matches(name, processor_names(), n=1)
    hint = f"Did you mean {near[0]}?" if near else f"Known are: {', '.join(processor_names())}."
    raise OptionError(f"there is no processor named {name!r}", hint)
