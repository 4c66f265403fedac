"""The one list of processors.

Each entry names a processor and its settings group. Settings are imported here, since the command line is derived from
them; code comes in when it is used, so that ``--help`` does not wait for OpenCV.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, cast

from facefusion.config.option import group_info
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
    further: tuple[type, ...] = ()
    """Settings groups that it has beside its own."""

    @property
    def is_built(self) -> bool:
        """Whether there is code that its settings are for: the group itself says where that is still to come."""
        return not group_info(self.settings).awaited

    def load(self) -> ProcessorKind:
        """Import the processor's code: ``KIND`` in the module ``processor`` of its folder."""
        return cast("ProcessorKind", import_module(f"facefusion.processors.{self.name}.processor").KIND)


PROCESSORS: tuple[ProcessorEntry, ...] = (
    ProcessorEntry("face_swapper", FaceSwapperSettings),
    ProcessorEntry("deep_swapper", DeepSwapperSettings),
    ProcessorEntry("face_enhancer", FaceEnhancerSettings),
    ProcessorEntry("frame_enhancer", FrameEnhancerSettings),
    ProcessorEntry("face_debugger", FaceDebuggerSettings),
    ProcessorEntry("age_modifier", AgeModifierSettings),
    ProcessorEntry("background_remover", BackgroundRemoverSettings),
    ProcessorEntry("expression_restorer", ExpressionRestorerSettings),
    ProcessorEntry("face_editor", FaceEditorSettings),
    ProcessorEntry("frame_colorizer", FrameColorizerSettings),
    ProcessorEntry("lip_syncer", LipSyncerSettings, (VoiceExtractorSettings,)),
)
"""All of them, those too that ini and job files of FaceFusion name and that are not built."""


def processor_settings() -> tuple[type, ...]:
    """The settings groups of all processors."""
    return tuple(group for entry in PROCESSORS for group in (entry.settings, *entry.further))


def processor_names() -> tuple[str, ...]:
    """Names of all processors that can be run, in the order of the list."""
    return tuple(entry.name for entry in PROCESSORS if entry.is_built)


def awaited_processors() -> tuple[str, ...]:
    """Names of those that users know and this version does not have."""
    return tuple(entry.name for entry in PROCESSORS if not entry.is_built)


def find_processor(name: str) -> ProcessorEntry:
    """The entry of a processor.

    Raises:
        OptionError: none of that name can be run; the message names the nearest.
    """
    for entry in PROCESSORS:
        if entry.name == name and entry.is_built:
            return entry
    near = get_close_matches(name, processor_names(), n=1)
    hint = f"Did you mean {near[0]}?" if near else f"Known are: {', '.join(processor_names())}."
    raise OptionError(f"there is no processor named {name!r}", hint)
