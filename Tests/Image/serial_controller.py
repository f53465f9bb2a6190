#!/usr/bin/env python3
"""The peers of the tests, with the hub's controller at the other end of a serial line (H4, Bluetooth Core Vol 4 Part A) instead of /dev/vhci.

    serial_controller.py --line SOCKET [options of Tests/Peers/virtual_controller.py]

SOCKET is the Unix socket of an emulated serial port. On the hub's side `btattach -P h4` makes a controller of it, as the kernel does by itself with a Raspberry Pi's.
"""

from __future__ import annotations

import asyncio
import os
import pathlib
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Peers"))
import virtual_controller
from bumble import hci
from bumble.controller import Controller
from virtual_radio import KernelController

# The bytes of the head behind the type, and where in them the length of the rest stands.
HEADS = {hci.HCI_COMMAND_PACKET: (3, 2, 1), hci.HCI_ACL_DATA_PACKET: (4, 2, 2), hci.HCI_SYNCHRONOUS_DATA_PACKET: (3, 2, 1)}


class SerialController(KernelController):
    """A controller that a kernel drives over a serial line: packets follow each other without gaps, in pieces of any size."""

    def __init__(self, air, address: str, line: str) -> None:
        self._bytes = bytearray()
        self._waiting = bytearray()
        super().__init__(air, address, line)
        # What the kernel calls it is not said over the line.
        self.index = 0
        self.created.set_result(self.index)

    def _open(self, device: str) -> int:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # Before anything else runs here: the machine may be about to make the socket.
        for _ in range(100):
            try:
                connection.connect(device)
                break
            except (FileNotFoundError, ConnectionRefusedError):
                time.sleep(0.1)
        else:
            raise TimeoutError(f"nobody listens on {device}")
        connection.setblocking(False)
        return connection.detach()

    def _write(self, packet: bytes) -> None:
        # The line is slow: what it does not take at once waits, for a lost byte would be the end of the framing.
        if self._file < 0 or self.hung:
            return
        self._waiting += packet
        self._flush()

    def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            del self._waiting[: os.write(self._file, self._waiting)]
        except BlockingIOError:
            pass
        if self._waiting:
            loop.add_writer(self._file, self._flush)
        else:
            loop.remove_writer(self._file)

    def _readable(self) -> None:
        try:
            self._bytes += os.read(self._file, 65536)
        except BlockingIOError:
            return
        while self._bytes:
            head = HEADS.get(self._bytes[0])
            if head is None:
                # What a port says while it is opened.
                del self._bytes[0]
                continue
            size, at, width = head
            if len(self._bytes) < 1 + size:
                return
            whole = 1 + size + int.from_bytes(self._bytes[1 + at : 1 + at + width], "little")
            if len(self._bytes) < whole:
                return
            packet = bytes(self._bytes[:whole])
            del self._bytes[:whole]
            if not self.hung:
                Controller.on_packet(self, packet)


if __name__ == "__main__":
    at = sys.argv.index("--line")
    line = sys.argv[at + 1]
    del sys.argv[at : at + 2]
    virtual_controller.KernelController = lambda air, address, device: SerialController(air, address, line)
    asyncio.run(virtual_controller.main())
