"""The hosts that FaceFusion publishes its models on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from facefusion.catalogue.card import GraphFile


@dataclass(frozen=True, slots=True)
class Mirror:
    """One server of a host."""

    host: str
    """What users know it by, in ``--download-providers``."""
    address: str
    """Of a file: ``{base}`` is that of its publication, ``{file}`` its name."""


MIRRORS = (
    Mirror("github", "https://github.com/facefusion/facefusion-assets/releases/download/{base}/{file}"),
    Mirror("huggingface", "https://huggingface.co/facefusion/{base}/resolve/main/{file}"),
    Mirror("huggingface", "https://hf-mirror.com/facefusion/{base}/resolve/main/{file}"),
)


@dataclass(frozen=True, slots=True)
class Published:
    """Where a file and its CRC-32 can be had."""

    file: str
    checksum: str


def mirrors_of(hosts: Iterable[str]) -> tuple[Mirror, ...]:
    """The servers of some hosts, in the order of the hosts."""
    return tuple(mirror for host in hosts for mirror in MIRRORS if mirror.host == host)


def addresses(graph: GraphFile, mirrors: Iterable[Mirror]) -> tuple[Published, ...]:
    """The addresses of a published file, in the order of the servers; none for a file that is not published."""
    publication = graph.publication
    if publication is None:
        return ()
    file = PurePosixPath(graph.name)
    fitting = [mirror for mirror in mirrors if mirror.host in publication.hosts]
    return tuple(
        Published(
            *(mirror.address.format(base=publication.base, file=one.name) for one in (file, file.with_suffix(".hash")))
        )
        for mirror in fitting
    )
