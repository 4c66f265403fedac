"""Where the files of the service are: in a folder that all machines have mounted, or in a bucket."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from facefusion.service.asset_copies import AssetCopies
from facefusion.service.bucket import CLIENT_PATIENCE, WORKER_PATIENCE, open_bucket
from facefusion.service.files import FolderStore
from facefusion.service.object_store import ObjectStore
from facefusion.service.ports import FileStore
from facefusion.service.scratch import scratch
from facefusion.service.settings import GIGABYTE, ServiceSettings


def open_files(settings: ServiceSettings, environment: Mapping[str, str]) -> FileStore:
    """What keeps the files of the service, for machines that take them in and hand them out.

    Args:
        settings: of the service.
        environment: of the process, where the keys of an object storage are.

    Raises:
        StorageFullError: there is no room for the folder.
        ServiceUnavailableError: the storage cannot be used.
        SetupError: the address of a bucket, or what the environment says of it, is of no use.
    """
    if settings.storage_url is None:
        # As errors name it, so that it can be taken out of what clients are told.
        return FolderStore(settings.storage_path.absolute())
    return ObjectStore(open_bucket(settings.storage_url, environment, CLIENT_PATIENCE))


@contextlib.contextmanager
def worker_files(
    settings: ServiceSettings, environment: Mapping[str, str], limit: float, root: Path
) -> Iterator[FileStore]:
    """What keeps them, for a worker, which asks for the same file again and again.

    Args:
        settings: of the service.
        environment: of the process, where the keys of an object storage are.
        limit: gigabytes of copies that this machine keeps of files in a bucket.
        root: of this machine's temporary files.

    Raises:
        StorageFullError: as :func:`open_files`, likewise other errors.
    """
    if settings.storage_url is None:
        yield open_files(settings, environment)
        return
    bucket = open_bucket(settings.storage_url, environment, WORKER_PATIENCE)
    with scratch(root) as folder:
        copies = AssetCopies(folder, round(limit * GIGABYTE))
        store = ObjectStore(bucket, copies)
        with copies.tended(lambda asset_id: store.asset(asset_id) is not None):
            yield store
