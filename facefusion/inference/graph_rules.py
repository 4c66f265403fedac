"""What no graph may hold, wherever it comes from; found out before ONNX Runtime reads it.

ONNX Runtime keeps to the folder of a graph's file when that names others, knows no operator that runs code of the
graph's, and takes no more memory than there is. Two things are left:

* A node that holds what a provider compiled before (``EPContext``) is handed to the compiler's own loader, which runs
  it as it is: TensorRT's engines are programs. Graphs that this program has compiled lie in its own caches instead.
* Functions of a graph's own are laid out node by node while it is loaded, each use anew, and nobody can stop that: a
  file of some kilobytes in which each of forty functions uses the one before twice does not come to an end.
"""

from __future__ import annotations

import mmap
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TypeAlias

from facefusion.inference.graph_file import (
    ATTRIBUTE_OF_NODE,
    DOMAIN_OF_FUNCTION,
    DOMAIN_OF_NODE,
    FUNCTION_OF_MODEL,
    GRAPH_OF_MODEL,
    GRAPHS_OF_ATTRIBUTE,
    NAME_OF_FUNCTION,
    NODE_OF_FUNCTION,
    NODE_OF_GRAPH,
    TYPE_OF_NODE,
    Entry,
    entries,
    inside,
)

COMPILED = b"EPContext"
MOST_NODES = 1 << 20
"""Of a graph with its functions laid out. The largest network in use has some ten thousand."""

Operator: TypeAlias = tuple[bytes, bytes]
"""Domain and name."""
Uses: TypeAlias = Counter[Operator]
"""How often each operator is used."""


def broken_rule(path: Path) -> str:
    """What a graph must not hold and does, after its name; empty where there is nothing.

    Raises:
        OSError: the file cannot be read.
        ValueError, IndexError: it is no graph, or ends too early.
    """
    try:
        uses, functions = _uses(path)
    except RecursionError as error:
        raise ValueError("graphs lie within graphs without end") from error
    if any(name == COMPILED for each in (uses, *functions.values()) for _, name in each):
        return "holds a program that was compiled elsewhere, which would be run as it is"
    return _fault_of_size(uses, functions)


def _uses(path: Path) -> tuple[Uses, dict[Operator, Uses]]:
    """Of the graph itself, and of each of its functions."""
    if not path.stat().st_size:
        return Counter(), {}
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        uses: Uses = Counter()
        functions: dict[Operator, Uses] = {}
        for entry in inside(data, 0, len(data), GRAPH_OF_MODEL, FUNCTION_OF_MODEL):
            if entry.number == GRAPH_OF_MODEL:
                uses.update(_operators(data, entry, NODE_OF_GRAPH))
            else:
                functions[_name(data, entry)] = Counter(_operators(data, entry, NODE_OF_FUNCTION))
    return uses, functions


def _fault_of_size(uses: Uses, functions: dict[Operator, Uses]) -> str:
    """Counts the nodes that are there once all functions are laid out."""
    sizes: dict[Operator, int] = {}
    try:
        for function in TopologicalSorter(
            {name: each.keys() & functions for name, each in functions.items()}
        ).static_order():
            sizes[function] = _nodes(functions[function], sizes)
    except CycleError:
        return "holds a function that uses itself"
    return f"has more than {MOST_NODES} nodes" if _nodes(uses, sizes) > MOST_NODES else ""


def _nodes(uses: Uses, sizes: dict[Operator, int]) -> int:
    return min(sum(times * sizes.get(operator, 1) for operator, times in uses.items()), MOST_NODES + 1)


def _operators(data: mmap.mmap, holder: Entry, number: int) -> Iterator[Operator]:
    """What the nodes of a graph or function do, and those of graphs within them."""
    for node in inside(data, holder.begin, holder.end, number):
        domain = name = b""
        for entry in entries(data, node.begin, node.end):
            if entry.number == TYPE_OF_NODE:
                name = data[entry.begin : entry.end]
            elif entry.number == DOMAIN_OF_NODE:
                domain = data[entry.begin : entry.end]
            elif entry.number == ATTRIBUTE_OF_NODE:
                for inner in inside(data, entry.begin, entry.end, *GRAPHS_OF_ATTRIBUTE):
                    yield from _operators(data, inner, NODE_OF_GRAPH)
        yield domain, name


def _name(data: mmap.mmap, function: Entry) -> Operator:
    domain = name = b""
    for entry in inside(data, function.begin, function.end, NAME_OF_FUNCTION, DOMAIN_OF_FUNCTION):
        if entry.number == NAME_OF_FUNCTION:
            name = data[entry.begin : entry.end]
        else:
            domain = data[entry.begin : entry.end]
    return domain, name
