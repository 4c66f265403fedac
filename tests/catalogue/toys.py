"""A wheel with a toy model in it, a catalogue entry for it, and stand-ins for pip and for whoever listens."""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
import zlib
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from onnx import TensorProto, helper

from facefusion.catalogue.card import Download, GraphFile, ModelCard, Part, Publication, Wheel
from facefusion.catalogue.mirrors import Mirror
from facefusion.observability.events import Event, Notice

MEMBER = "toy/models/net.onnx"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def toy_graph(elements: int = 50_000) -> bytes:
    """A valid graph of about four bytes an element: one constant, added to the input."""
    constant = helper.make_tensor("c", TensorProto.FLOAT, [elements], bytes(4 * elements), raw=True)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [elements]) for name in ("input", "output")]
    node = helper.make_node("Add", ["input", "c"], ["output"])
    graph = helper.make_graph([node], "toy", values[:1], values[1:], [constant])
    return bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    )


GRAPH = toy_graph()


def wheel_of(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return buffer.getvalue()


WHEEL = wheel_of({MEMBER: GRAPH})


def graph_file(
    name: str = "toy.onnx", *, urls: Sequence[str] = (), wheel: bytes | None = WHEEL, member: str = MEMBER
) -> GraphFile:
    """The entry of the toy model; ``wheel`` is the content that the catalogue pins, none for no wheel at all."""
    pinned = None if wheel is None else Wheel("toy-models", "1.0", sha256(wheel), len(wheel))
    part = Part(
        role="graph",
        sha256=sha256(GRAPH),
        bytes=len(GRAPH),
        wheel=pinned,
        member=member if pinned else None,
        downloads=tuple(Download(url, sha256(GRAPH), len(GRAPH)) for url in urls),
    )
    return GraphFile(name=name, format="verbatim", options={}, parts=(part,), bytes=len(GRAPH))


def card(name: str, graph: GraphFile | None, kind: str = "face_swapper", *, embedded: bool = True) -> ModelCard:
    return ModelCard(
        name=name,
        kind=kind,
        family="toy",
        licence="MIT",
        vendor="nobody",
        year=2020,
        origin="this test",
        file=graph.name if graph else None,
        embedded=embedded,
        graph=graph,
    )


def crc32(data: bytes) -> str:
    return f"{zlib.crc32(data):08x}"


def published_file(name: str = "toy.onnx", base: str = "models-3.0.0", *hosts: str) -> GraphFile:
    """The entry of a file that FaceFusion publishes."""
    return GraphFile(name, "verbatim", {}, (), 0, Publication(base, hosts or ("github", "huggingface")))


class Ears:
    """Remembers every event."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        self.events.append(event)

    @property
    def notices(self) -> list[str]:
        return [event.message for event in self.events if isinstance(event, Notice)]


class Pip:
    """Puts a wheel where pip would, or fails as pip does."""

    def __init__(
        self, wheel: bytes | None = WHEEL, output: str = "", on_call: Callable[[], None] | None = None
    ) -> None:
        self.calls: list[list[str]] = []
        self._wheel = wheel
        self._output = output
        self._on_call = on_call

    def __call__(self, arguments: Sequence[str], scratch: Path, meanwhile: Callable[[], None]) -> tuple[int, str]:
        self.calls.append(list(arguments))
        if self._on_call:
            self._on_call()
        meanwhile()
        if self._wheel is None:
            return 1, self._output
        folder = Path(arguments[arguments.index("--dest") + 1])
        (folder / "toy_models-1.0-py3-none-any.whl").write_bytes(self._wheel)
        meanwhile()
        return 0, self._output


class Server:
    """A file server on this machine that can be told to misbehave.

    Where a ``.hash`` is asked for it answers with the file's CRC-32, and does not count that as a request.

    Args:
        data: the file.
        cut: for each request in turn, after how many bytes of its answer the connection ends; none for the whole.
        status: for each request in turn, the status to answer instead.
        ranges: whether it continues a file that was begun.
        checksum: what its ``.hash`` holds; the right one where nothing is said.
        tells_size: whether it says how long the file is.
        instead: what it sends in place of the file.
        skips: bytes that it leaves out where it continues a file.
    """

    def __init__(
        self,
        data: bytes,
        *,
        cut: Sequence[int | None] = (),
        status: Sequence[int | None] = (),
        ranges: bool = True,
        checksum: str | None = None,
        tells_size: bool = True,
        instead: bytes | None = None,
        skips: int = 0,
    ) -> None:
        self.asked: list[str | None] = []
        self.paths: list[str] = []
        server = self
        text = (crc32(data) if checksum is None else checksum).encode()
        data = data if instead is None else instead

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.paths.append(self.path)
                if self.path.endswith(".hash"):
                    self.send_response(200)
                    self.end_headers()
                    self.wfile.write(text)
                    return
                number = len(server.asked)
                wanted = self.headers.get("Range")
                server.asked.append(wanted)
                if number < len(status) and status[number]:
                    self.send_error(status[number] or 0)
                    return
                start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and ranges else 0
                start += skips if start else 0
                self.send_response(206 if start else 200)
                if start:
                    self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
                if tells_size:
                    self.send_header("Content-Length", str(len(data) - start))
                self.end_headers()
                end = cut[number] if number < len(cut) else None
                self.wfile.write(data[start:] if end is None else data[start : start + end])

            def log_message(self, *_arguments: object) -> None:
                """Keep the output of the tests clean."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/net.onnx"
        self.mirror = Mirror("github", self.url.replace("net.onnx", "{base}/{file}"))

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
