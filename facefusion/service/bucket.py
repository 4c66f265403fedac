"""Objects in an S3-compatible storage: as much as the service needs, with one voice for what can go wrong.

Who may use the bucket, and where it is, comes from the environment, as Amazon's own programs take it
(``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``, ``AWS_ENDPOINT_URL``, ``AWS_REGION``, a role of the machine or pod).
Keys are ``/``-separated and lie below the prefix that the address names.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import ObjectStore, S3Store

from facefusion.core.errors import SetupError
from facefusion.service.environment import secret_of
from facefusion.service.errors import NotFoundError, ServiceUnavailableError
from facefusion.service.kept_files import PART, PRIVATE_FILE, told

logger = logging.getLogger(__name__)

BLOCK = 8 << 20
"""Bytes of one request, up or down. S3 takes 10,000 of them for one object: 84 GB."""
AT_ONCE = 4
"""Requests of one upload that are on their way at a time."""
REQUEST_SECONDS = 60.0
"""That one request may take."""
CONNECT_SECONDS = 5.0
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0
"""Seconds between two tries of a request; they double."""
MOST_TRIES = 50

NO_BUCKET = "NoSuchBucket"
"""S3's code for a bucket that is not there, in whatever error of obstore's it comes."""

CLIENT_PATIENCE = 8.0
"""Seconds that a client of the API waits for a storage that is away, or that says nothing."""
WORKER_PATIENCE = 60.0
"""Seconds that a worker does; then the unit goes back to the queue for another try."""

ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
"""Variables that name the server; the first that is set counts."""
KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
"""Variables that may name a file in place of holding the secret itself, with ``_FILE`` behind."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What a listing says of an object."""

    key: str
    size: int
    """Bytes."""
    changed: float
    """Seconds since 1970, by the storage's clock."""
    tag: str
    """Another one for another content."""


class Bucket:
    """Objects below one prefix of a bucket. Thread-safe.

    An object is there whole or not at all, however large, and who writes it anew replaces it at once.
    Every method raises ``ServiceUnavailableError`` where the storage cannot be used, after tries with growing pauses.

    Args:
        store: the way to it.
        upload: the way for files, which a storage is silent about as long as it receives them; the same where none.
    """

    def __init__(self, store: ObjectStore, upload: ObjectStore | None = None) -> None:
        self._store = store
        self._upload = upload or store

    def check(self) -> None:
        """Ask for something, so that a storage that cannot be used is found out."""
        with reaching():
            next(iter(obstore.list(self._store, chunk_size=1)), None)

    def put_file(self, key: str, path: Path) -> None:
        """Write an object from a file, block by block."""
        with reaching():
            obstore.put(self._upload, key, path, chunk_size=BLOCK, max_concurrency=AT_ONCE)

    def put(self, key: str, data: bytes) -> None:
        """Write a small object."""
        with reaching():
            obstore.put(self._store, key, data, use_multipart=False)

    def get(self, key: str) -> tuple[bytes, str] | None:
        """A small object, with its tag; none where there is none."""
        try:
            with reaching():
                found = obstore.get(self._store, key)
                return bytes(found.bytes()), found.meta["e_tag"] or ""
        except FileNotFoundError:
            return None

    def read(self, key: str, first: int, stop: int) -> Iterator[bytes]:
        """Bytes of an object, from ``first`` to before ``stop``, both within it, a block at a time.

        Raises:
            NotFoundError: it is not there, or not any more.
        """
        for start in range(first, stop, BLOCK):
            try:
                with reaching():
                    block = obstore.get_range(self._store, key, start=start, end=min(start + BLOCK, stop))
            except FileNotFoundError as error:
                raise NotFoundError("the file is not there any more", "It may have been erased meanwhile.") from error
            yield bytes(block)

    def fetch(self, key: str, path: Path, *, size: int, sha256: str | None = None) -> None:
        """Copy an object to a file, which is there whole or not at all.

        Args:
            key: of the object.
            path: of the file; its folder is there.
            size: of the object, in bytes.
            sha256: of its content; not compared where none.

        Raises:
            NotFoundError: it is not there.
            ServiceUnavailableError: what came is not what was written, likewise.
            StorageFullError: this machine has no room for it.
        """
        part = path.with_name(f"{path.name}.{secrets.token_hex(4)}{PART}")
        digest = hashlib.sha256()
        try:
            with told():
                part.touch(PRIVATE_FILE)
                with part.open("wb") as file:
                    for block in self.read(key, 0, size):
                        file.write(block)
                        digest.update(block)
            if sha256 is not None and digest.hexdigest() != sha256:
                logger.error("%s does not read back as it was written", key)
                raise ServiceUnavailableError("a file of the storage is damaged", "Upload it again.")
            with told():
                part.replace(path)
        finally:
            part.unlink(missing_ok=True)

    def walk(self, prefix: str) -> Iterator[Stored]:
        """All objects below a prefix."""
        with reaching():
            for page in obstore.list(self._store, prefix):
                for each in page:
                    changed = each["last_modified"].timestamp()
                    yield Stored(each["path"], each["size"], changed, each["e_tag"] or "")

    def names(self, prefix: str) -> list[str]:
        """Names right below a prefix that have objects below them, in order."""
        with reaching():
            found = obstore.list_with_delimiter(self._store, prefix)["common_prefixes"]
        return sorted(path.rpartition("/")[2] for path in found)

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects; those that are not there do no harm."""
        names = list(keys)
        if names:
            with contextlib.suppress(FileNotFoundError), reaching():
                obstore.delete(self._store, names)


@contextlib.contextmanager
def reaching() -> Iterator[None]:
    """Say in words for clients that the storage cannot be used; the log has the rest.

    Raises:
        FileNotFoundError: there is no such object.
        ServiceUnavailableError: the storage cannot be reached, does not let us in, or has no such bucket.
    """
    try:
        yield
    except FileNotFoundError as error:
        # An object that is not there is told by a code of its own; a bucket that is not there is nobody's erased file.
        if NO_BUCKET not in str(error):
            raise
        # What obstore says goes on for pages, of which only the first line says anything.
        raise _unusable(error) from ConnectionError(_first_line(error))
    except (BaseError, PermissionError) as error:
        raise _unusable(error) from ConnectionError(_first_line(error))


def open_bucket(url: str, environment: Mapping[str, str], patience: float) -> Bucket:
    """The bucket that an address names, once it has answered.

    Args:
        url: ``s3://BUCKET`` or ``s3://BUCKET/PREFIX``.
        environment: of the process; obstore reads it besides.
        patience: seconds that a storage is waited for that is away, or that says nothing to what is no upload.

    Raises:
        SetupError: a variable is of no use.
        ServiceUnavailableError: the storage cannot be used.
    """
    config = {name.lower(): value for name in KEYS if (value := secret_of(environment, name)) is not None}
    endpoint = next((value for name in ENDPOINTS if (value := environment.get(name, "").strip())), "")
    if endpoint:
        config["endpoint"] = endpoint
    if endpoint and urlsplit(endpoint).scheme not in ("http", "https"):
        raise SetupError("the address of the object storage is none", "Write AWS_ENDPOINT_URL as https://HOST:PORT.")
    # Whoever names http:// means it; nothing else is sent in the clear.
    client = {
        "allow_http": endpoint.startswith("http://"),
        "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
        "timeout": timedelta(seconds=REQUEST_SECONDS),
    }
    silence = {"read_timeout": timedelta(seconds=min(patience, REQUEST_SECONDS))}
    try:
        upload = _way(url, config, client, patience)
        bucket = Bucket(_way(url, config, {**client, **silence}, patience), upload)
    except (BaseError, ValueError) as error:
        raise SetupError(
            f"--storage-url {url} cannot be used: {_first_line(error)}",
            "Write it as s3://BUCKET/PREFIX, and see that the variables AWS_... are what docs/production.md says.",
        ) from error
    bucket.check()
    return bucket


def _way(url: str, config: Mapping[str, str], client: Mapping[str, object], patience: float) -> ObjectStore:
    return S3Store.from_url(
        url,
        config=config,  # type: ignore[arg-type] # names of S3Config, which is open to few only
        client_options=client,  # type: ignore[arg-type] # likewise
        retry_config={
            "max_retries": MOST_TRIES,
            "retry_timeout": timedelta(seconds=patience),
            "backoff": {
                "init_backoff": timedelta(seconds=FIRST_PAUSE),
                "max_backoff": timedelta(seconds=LONGEST_PAUSE),
                "base": 2,
            },
        },
    )


def _unusable(error: Exception) -> ServiceUnavailableError:
    logger.error("the object storage cannot be used: %s", _first_line(error))
    if isinstance(error, (PermissionDeniedError, UnauthenticatedError, PermissionError)):
        return ServiceUnavailableError(
            "the storage of the service does not let it in", "The operator has to see to its keys."
        )
    if NO_BUCKET in str(error):
        return ServiceUnavailableError(
            "the storage of the service is not there", "The operator has to see to the name and place of its bucket."
        )
    return ServiceUnavailableError("the storage of the service cannot be used", "Try again later.")


def _first_line(error: Exception) -> str:
    """What obstore says, without the pages of detail that follow it."""
    return str(error).strip().partition("\n")[0]
