"""A time server (RFC 5905) on this machine's loopback interface, as a thread."""

from __future__ import annotations

import socket
import struct
import threading
import time

_ERA = 2_208_988_800


class TimeServer:
    """Tells this machine's time, `ahead` seconds later, to whoever asks."""

    def __init__(self, ahead: float = 0) -> None:
        self.ahead = ahead
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 123))
        # A thread that waits in the kernel would keep the port.
        self._socket.settimeout(0.1)
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ends.set()
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while not self._ends.is_set():
            try:
                question, peer = self._socket.recvfrom(256)
            except TimeoutError:
                continue
            if len(question) < 48:
                continue
            now = time.time() + self.ahead + _ERA
            stamp = struct.pack(">II", int(now), int(now % 1 * (1 << 32)))
            # Leap none, version 4, server; stratum 2; precision 2^-20 s. Then when it was set, what was asked, when that came, and when this goes.
            head = struct.pack(">BBbbII4s", 0x24, 2, 6, -20, 0, 0x100, b"TEST")
            self._socket.sendto(head + stamp + question[40:48] + stamp + stamp, peer)
