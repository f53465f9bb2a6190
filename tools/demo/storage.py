"""Watching the outbox being written, to kill the daemon in the middle of it."""

from __future__ import annotations

import ctypes
import os
import pathlib
import select
import shutil
import sqlite3
import struct
import tempfile
import time

_IN_MODIFY = 0x2
_IN_NONBLOCK = os.O_NONBLOCK
_IN_CLOEXEC = os.O_CLOEXEC
_EVENT = struct.Struct("iIII")

_libc = ctypes.CDLL(None, use_errno=True)


class WriteWatch:
    """Writes to the write-ahead log in a directory (inotify(7)); the log may be made later."""

    def __init__(self, outbox: pathlib.Path):
        self._name = f"{outbox.name}-wal".encode()
        self._fd = _libc.inotify_init1(_IN_NONBLOCK | _IN_CLOEXEC)
        if self._fd < 0 or _libc.inotify_add_watch(self._fd, os.fsencode(outbox.parent), _IN_MODIFY) < 0:
            raise OSError(ctypes.get_errno(), f"inotify: {os.strerror(ctypes.get_errno())}")

    def close(self) -> None:
        os.close(self._fd)

    def wait_quiet(self, seconds: float, limit: float) -> bool:
        """True once nothing has been written for so long; False when that does not happen within ``limit`` seconds."""
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            if not self.wait_write(seconds):
                return True
        return False

    def wait_write(self, timeout: float) -> bool:
        """True at the first write."""
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            if select.select([self._fd], [], [], left)[0] and self._name in self._take():
                return True
        return False

    def _take(self) -> set[bytes]:
        names: set[bytes] = set()
        try:
            data = os.read(self._fd, 65536)
        except BlockingIOError:
            return names
        position = 0
        while position < len(data):
            _, _, _, length = _EVENT.unpack_from(data, position)
            position += _EVENT.size
            names.add(data[position:position + length].rstrip(b"\0"))
            position += length
        return names


def queued_on_disk(outbox: pathlib.Path) -> int | None:
    """Entries in the queue by the files that a killed daemon left, read from a copy; None when there is no outbox yet."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = pathlib.Path(scratch) / outbox.name
        try:
            for suffix in ("", "-wal"):
                shutil.copyfile(f"{outbox}{suffix}", f"{copy}{suffix}")
        except FileNotFoundError:
            return None
        database = sqlite3.connect(copy)
        try:
            return int(database.execute("SELECT count(*) FROM entry WHERE state = 0").fetchone()[0])
        except sqlite3.OperationalError:
            return None  # killed before the tables were made
        finally:
            database.close()


def pages_in_flight(outbox: pathlib.Path) -> int:
    """Pages at the end of the write-ahead log that no commit covers: what a kill left of a transaction.

    0 when there is no log, or the last transaction in it is complete. (SQLite's file format, section 4: a frame belongs to the log when it
    has the header's salts; the field at offset 4 is not 0 in the last frame of a transaction.)
    """
    try:
        data = outbox.with_name(f"{outbox.name}-wal").read_bytes()
    except OSError:
        return 0
    if len(data) < 32 or data[:4] not in (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83"):
        return 0
    frame = 24 + struct.unpack_from(">I", data, 8)[0]
    salts = data[16:24]
    pending = 0
    for start in range(32, len(data) - 23, frame):
        if data[start + 8:start + 16] != salts:
            break
        pending = 0 if struct.unpack_from(">I", data, start + 4)[0] else pending + 1
    return pending
