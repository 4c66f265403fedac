"""Graphs as ONNX Runtime optimised them, in the program's own folder."""

from __future__ import annotations

from facefusion.app.paths import graphs_folder
from facefusion.inference.optimised import OptimisedGraphs
from facefusion.inference.session import OrtSession, SessionLoader
from facefusion.observability.events import EventSink


def kept_graphs(version: str, events: EventSink, load: SessionLoader = OrtSession) -> OptimisedGraphs:
    """What loads graphs, and keeps them optimised; see :class:`~facefusion.inference.optimised.OptimisedGraphs`."""
    return OptimisedGraphs(graphs_folder(), version, events, load=load)
