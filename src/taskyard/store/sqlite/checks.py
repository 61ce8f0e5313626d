"""What is looked at before the file is opened, so that a refusal changes nothing.

Each check raises `StoreRefused` with a sentence that says what is wrong and what to do. Those that only
look at values take them as arguments, which is how they are tested on one machine for all.
"""

import fcntl
import os
from pathlib import Path
from typing import Final

import apsw

from taskyard.files.private import open_private
from taskyard.store.port import StoreRefused
from taskyard.store.sqlite.migrate import APPLICATION_ID, SCHEMA_VERSION, is_empty

# SQLite from 3.7.0 to 3.51.2 can lose committed transactions when one connection writes while another
# checkpoints (the WAL-reset race). We never do that, but a backup tool or a curious shell might.
_FIXED: Final = (3, 51, 3)
_BACKPORTS: Final = ((3, 50, 7), (3, 44, 6))

# WAL keeps its index in shared memory, which these do not share between machines, and their locks are
# not to be trusted.
_NETWORK_FILE_SYSTEMS: Final = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "afs", "ceph", "lustre", "ncpfs", "9p"),
        *("fuse.sshfs", "fuse.glusterfs", "fuse.ceph-fuse", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse"),
        *("fuse.davfs", "davfs", "fuse.curlftpfs", "beegfs", "ocfs2", "gfs2", "gpfs"),
    }
)

_MAGIC: Final = b"SQLite format 3\0"
_HEADER_BYTES: Final = 100


class FileInUse(StoreRefused):
    def __init__(self, file: Path, holder: str) -> None:
        super().__init__(
            f"Another hub (process {holder}) uses {file}. Stop that one first, or give this one a data "
            "directory of its own."
        )
        self.holder = holder


def refuse_old_sqlite(version: str) -> None:
    numbers = tuple(int(part) for part in version.split(".")[:3])
    backported = any(numbers[:2] == fixed[:2] and numbers >= fixed for fixed in _BACKPORTS)
    if numbers < _FIXED and not backported:
        raise StoreRefused(
            f"SQLite {version} can lose committed data (the WAL-reset race, fixed in 3.51.3). "
            "Install apsw 3.51.3 or later from its wheel, which brings a fixed SQLite."
        )


def refuse_network_file_system(directory: Path, *, mounts: str) -> None:
    """`mounts` has the form of `/proc/mounts`; empty where there is none."""
    resolved = str(directory.resolve())
    found = ("", "")
    for line in mounts.splitlines():
        _, raw_mount, kind, *_ = line.split(" ")
        mount = raw_mount.encode().decode("unicode_escape").rstrip("/")
        inside = resolved == mount or resolved.startswith(f"{mount}/")
        # Of equal paths the later mount covers the earlier one.
        if inside and len(mount) >= len(found[0]):
            found = (mount, kind)
    mount, kind = found
    if kind in _NETWORK_FILE_SYSTEMS:
        raise StoreRefused(
            f"{directory} is on a network file system ({kind}), where SQLite can corrupt its file. "
            "Put the data directory on a local disk."
        )


def mounts_of_this_machine() -> str:
    """What is mounted where; empty on systems that do not tell, where nothing can be refused by it."""
    try:
        return Path("/proc/mounts").read_text(errors="replace")
    except OSError:
        return ""


def take_lock(file: Path) -> int:
    """Be the only hub on this database until the descriptor is closed, also by the death of the process."""
    if not file.parent.is_dir():
        raise StoreRefused(f"The directory {file.parent} does not exist. Create it, or name another.")
    path = file.with_name("hub.lock")
    try:
        descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise StoreRefused(
            f"{path} cannot be written ({error.strerror}). Make the directory {file.parent} writable "
            "for the user who runs the hub."
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
        os.close(descriptor)
        raise FileInUse(file, holder) from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


def refuse_foreign_file(file: Path) -> None:
    """Look at the header alone. Only under the lock and before SQLite opens the file: closing a second
    descriptor of a database in one process would drop the locks that SQLite holds on it."""
    try:
        header = file.read_bytes() if file.stat().st_size < _HEADER_BYTES else _header_of(file)
    except FileNotFoundError:
        header = b""
    except OSError as error:
        raise StoreRefused(
            f"{file} cannot be read ({error.strerror}). Let the hub's user read and write it."
        ) from error
    if not header:
        _refuse_orphaned_log(file)
        return
    if _has_content(file.with_name(f"{file.name}-journal")):
        # The first opening was cut off while SQLite wrote this page. It rolls that back before anything else.
        return
    if len(header) < _HEADER_BYTES or not header.startswith(_MAGIC):
        raise StoreRefused(f"{file} is not a SQLite database. Move it away, or restore a backup in its place.")
    version, application_id = int.from_bytes(header[60:64]), int.from_bytes(header[68:72])
    if application_id == APPLICATION_ID:
        refuse_newer_schema(file, version)


def _header_of(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(_HEADER_BYTES)


def _has_content(file: Path) -> bool:
    return file.exists() and file.stat().st_size > 0


def _refuse_orphaned_log(file: Path) -> None:
    """SQLite would delete the log and begin anew; it may hold everything that was ever acknowledged."""
    log = file.with_name(f"{file.name}-wal")
    if _has_content(log):
        raise StoreRefused(
            f"{file} is missing or empty, but its log {log.name} is there. Put the file back beside its log, "
            "or move the log away to begin anew."
        )


def refuse_foreign_database(file: Path, connection: apsw.Connection) -> None:
    """Only ours, or an empty one: a first opening may have been cut off before it made a table."""
    ours = connection.pragma("application_id") == APPLICATION_ID
    if not ours and not is_empty(connection):
        raise StoreRefused(f"{file} is a database of another program. Name another file.")


def refuse_newer_schema(file: Path, version: int) -> None:
    if version > SCHEMA_VERSION:
        raise StoreRefused(
            f"{file} was written by a newer Taskyard (schema {version}; this one knows {SCHEMA_VERSION}). "
            "Install that version, or restore a backup made before the upgrade."
        )
