"""One manifest on its way into a file, by the C2PA library."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from facefusion.core.errors import InputError, SigningError
from facefusion.provenance.manifests import kept_of, stores_of
from facefusion.provenance.records import has_sidecar
from facefusion.provenance.rules import LARGEST_SIDE_CAR, TOO_LONG, library_rules, load_library
from facefusion.provenance.signing.credential import Credential
from facefusion.provenance.signing.definition import ingredient
from facefusion.provenance.signing.formats import SIDE_CAR, UNKNOWN, media_type_of

c2pa = load_library()
LibraryError: type[Exception] = c2pa.C2paError
"""What it raises of its own."""
SignatureError: type[Exception] = c2pa.C2paError.Signature
"""What it raises where there is no signature, or no time stamp."""

BRING_BACK = "Bring it back, and run the same command again: it goes on from here."

_MANIFEST = "manifest"


class Building:
    """A manifest that is being made. It signs once.

    Args:
        credential: who signs.
        time_stamp_authority: its address; none is asked where there is none.
        said: what to say, as :func:`definition` makes it.
    """

    def __init__(self, credential: Credential, time_stamp_authority: str | None, said: dict[str, object]) -> None:
        self._credential = credential
        self._fault: SigningError | None = None
        signer = c2pa.Signer.from_callback(
            self._answer,
            c2pa.C2paSigningAlg[credential.certificate.algorithm.name],
            credential.certificate.pem,
            time_stamp_authority,
        )
        self._context = c2pa.Context.from_dict(library_rules(), signer=signer)
        self._builder = c2pa.Builder(said, context=self._context)

    def __enter__(self) -> Building:
        return self

    def __exit__(self, *raised: object) -> None:
        self._builder.close()
        self._context.close()

    def add_parent(self, path: Path, *, keeps: bool = True) -> bool:
        """Name what the result was made of by its hash, and keep the manifest that it carries or that lies beside it.

        Args:
            path: of the file.
            keeps: whether to take its manifest along; else it is said not to be readable.

        Returns:
            Whether its manifest is kept; true where it has none.

        Raises:
            SigningError: the file cannot be read.
        """
        self._builder.set_intent(c2pa.C2paBuilderIntent.EDIT)
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                file.seek(0)
                if keeps and self._add_whole(path, file, digest):
                    return True
        except OSError as error:
            fault = f"{path}, which it was made of, cannot be read any more: {error.strerror or error}"
            raise SigningError(fault, BRING_BACK) from error
        except InputError as error:  # of the file, or of one beside it
            raise SigningError(error.fault, BRING_BACK) from error
        # Of a type that the library knows nothing of, it takes the word for it.
        self._builder.add_ingredient(ingredient(digest, has_manifest=False), UNKNOWN, io.BytesIO())
        return False

    def _add_whole(self, path: Path, file: BinaryIO, digest: str) -> bool:
        media_type = media_type_of(path, file)
        try:
            said = ingredient(digest, has_manifest=True) | self._beside(path, file)
            self._builder.add_ingredient(said, media_type, file)
        except LibraryError:
            return False
        return True

    def _beside(self, path: Path, file: BinaryIO) -> dict[str, object]:
        """What to add of a manifest that lies beside the parent, if one does and there is none inside."""
        kept = kept_of(stores_of(path)) if has_sidecar(path) else None
        if kept is None or kept.side_car is None:
            return {}
        with kept.side_car.open("rb") as beside:
            manifest = beside.read(LARGEST_SIDE_CAR + 1)
        if len(manifest) > LARGEST_SIDE_CAR:
            raise LibraryError(TOO_LONG)
        with (
            c2pa.Context.from_dict(library_rules()) as context,
            c2pa.Reader(SIDE_CAR, file, manifest, context=context) as reader,
        ):
            found = json.loads(reader.json())
        file.seek(0)
        self._builder.add_resource(_MANIFEST, io.BytesIO(manifest))
        return {
            "manifest_data": {"format": SIDE_CAR, "identifier": _MANIFEST},
            "active_manifest": found["active_manifest"],
            "validation_results": found["validation_results"],
        }

    def inside(self, media_type: str, source: BinaryIO, destination: BinaryIO) -> None:
        """Copy a file with the manifest in it.

        Raises:
            SigningError: the signer does not sign.
            OSError: a file cannot be read or written.
            LibraryError: the file cannot hold it, or the library allows the certificate none.
        """
        self._sign(media_type, source, destination)

    def beside(self) -> bytes:
        """The manifest by itself.

        Raises:
            SigningError: the signer does not sign.
            LibraryError: the library allows the certificate none.
        """
        self._builder.set_no_embed()
        # What it is about is said by its hash, so the library needs no file.
        return self._sign(SIDE_CAR, io.BytesIO(), io.BytesIO())

    def _sign(self, media_type: str, source: BinaryIO, destination: BinaryIO) -> bytes:
        streams = (_Watched(source), _Watched(destination))
        try:
            return bytes(self._builder.sign(media_type, *streams))
        except LibraryError:
            # The library passes on no errors of what it calls, and tells of others in their place.
            for fault in (self._fault, *(stream.fault for stream in streams)):
                if fault is not None:
                    raise fault from None
            raise

    def _answer(self, data: bytes) -> bytes:
        """What the library calls for a signature; none where there was an error."""
        try:
            return self._credential.sign(data)
        except SigningError as error:
            self._fault = error
            return b""


class _Watched:
    """A file that remembers its first error, for who calls through a library that forgets it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.fault: OSError | None = None

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - a buffer of the library's
        with self._watching():
            return int(self._file.readinto(buffer))  # type: ignore[attr-defined]  # all of ours have it

    def read(self, size: int = -1) -> bytes:
        with self._watching():
            return self._file.read(size)

    def write(self, data: bytes) -> int:
        with self._watching():
            return self._file.write(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        with self._watching():
            return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def flush(self) -> None:
        with self._watching():
            self._file.flush()

    @contextmanager
    def _watching(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.fault = self.fault or error
            raise
