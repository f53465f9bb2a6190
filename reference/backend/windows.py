"""A raw window: 322 bytes, little-endian; see the collar profile, "Window".

====== ======== ==========================================================
offset field    meaning
====== ======== ==========================================================
0      u32      sequence, wraps at 2**32
4      u32      time
8      u16      CRC-16/CCITT-FALSE over bytes 0-7 and 10-321
10     312 B    samples, opaque here
====== ======== ==========================================================
"""

from __future__ import annotations

import binascii
import struct
from typing import Iterator

WINDOW_BYTES = 322
SEQUENCES = 1 << 32


def crc(window: bytes) -> int:
    """CRC-16/CCITT-FALSE (poly 0x1021, init 0xFFFF, no reflection) of all but its own two bytes."""
    return binascii.crc_hqx(window[10:], binascii.crc_hqx(window[:8], 0xFFFF))


def is_whole(window: bytes) -> bool:
    """Whether the window's bytes agree with the CRC in it."""
    return struct.unpack_from("<H", window, 8)[0] == crc(window)


def sequence_of(window: bytes) -> int:
    """The sequence that the window itself carries."""
    return struct.unpack_from("<I", window, 0)[0]


def split(body: bytes) -> list[bytes]:
    """The body as windows; its length has been checked before."""
    return [body[start:start + WINDOW_BYTES] for start in range(0, len(body), WINDOW_BYTES)]


def sequences(first: int, count: int) -> Iterator[int]:
    """``count`` sequences from ``first``, across the wrap at 2**32."""
    return ((first + index) % SEQUENCES for index in range(count))


def offset_in(first: int, count: int, sequence: int) -> int | None:
    """Where ``sequence`` lies in the range, or None when it lies outside."""
    distance = (sequence - first) % SEQUENCES
    return distance if distance < count else None


def overlap(first: int, count: int, other_first: int, other_count: int) -> bool:
    """Whether two ranges of one log share a sequence; empty ranges share none."""
    if count == 0 or other_count == 0:
        return False
    return offset_in(first, count, other_first) is not None or offset_in(other_first, other_count, first) is not None


def make(sequence: int, time: int, samples: bytes) -> bytes:
    """A whole window, for examples and tests; ``samples`` are 312 bytes."""
    if len(samples) != WINDOW_BYTES - 10:
        raise ValueError(f"a window holds {WINDOW_BYTES - 10} bytes of samples, not {len(samples)}")
    head = struct.pack("<II", sequence % SEQUENCES, time)
    return head + struct.pack("<H", binascii.crc_hqx(samples, binascii.crc_hqx(head, 0xFFFF))) + samples
