"""A collar of docs/collar-profile.md, without its radio: the flash log, the clock, Beta Metrics and the Control Point.

Written from that document alone. Nothing here waits, sends or knows of Bluetooth: time comes in as a number, what is to be sent
comes out as bytes. `collar_device.py` puts it on a GATT server.
"""

from __future__ import annotations

import binascii
import hashlib
import random
import struct
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag

WINDOW_LENGTH = 322
SAMPLES_LENGTH = WINDOW_LENGTH - 10
ATT_HEADER_LENGTH = 3  # opcode and handle, before a notified value
UNSET_CLOCK_LIMIT = 10**9
UINT32 = 1 << 32


class Flags(IntFlag):
    CLOCK_SET = 1
    CHARGING = 2
    OVERWRITTEN = 4
    TRANSFER = 8


class Opcode(IntEnum):
    READ_RANGE = 1
    STOP = 2
    CLEAR = 3
    SET_TIME = 4
    STATUS = 5


class Result(IntEnum):
    OK = 0
    NOT_SUPPORTED = 1
    BAD_LENGTH = 2
    WRONG_LOG = 3
    NOT_HELD = 4
    BUSY = 5
    FLASH_ERROR = 6
    CLEAR_REFUSED = 7


REQUEST_LENGTHS = {Opcode.READ_RANGE: 13, Opcode.STOP: 1, Opcode.CLEAR: 9, Opcode.SET_TIME: 5, Opcode.STATUS: 1}
ANSWER = 0x80


def crc16(data: bytes) -> int:
    """CRC-16/CCITT-FALSE."""
    return binascii.crc_hqx(data, 0xFFFF)


def identity(serial: str) -> bytes:
    """What the advertisement carries as service data: it stays when the address changes."""
    return hashlib.sha256(serial.encode()).digest()[:8]


def make_window(sequence: int, time: int, samples: bytes) -> bytes:
    head = struct.pack("<II", sequence, time)
    return head + struct.pack("<H", crc16(head + samples)) + samples


def fragments(window: bytes, mtu: int) -> list[bytes]:
    """The values by which a window is notified: one, or as many as the MTU asks for."""
    room = mtu - ATT_HEADER_LENGTH
    if room >= WINDOW_LENGTH:
        return [window]
    step = room - 2
    return [struct.pack("<H", offset) + window[offset : offset + step] for offset in range(0, WINDOW_LENGTH, step)]


@dataclass
class Clock:
    """Seconds by a steady clock (`now`), since 1970 once they were set."""

    started: float
    since_1970: float | None = None  # what the steady clock's zero is since 1970

    @property
    def is_set(self) -> bool:
        return self.since_1970 is not None

    def seconds(self, now: float) -> int:
        if self.since_1970 is not None:
            return int(now + self.since_1970)
        return min(int(now - self.started), UNSET_CLOCK_LIMIT - 1)

    def set(self, now: float, since_1970: int) -> None:
        self.since_1970 = since_1970 - now

    def unset(self, now: float) -> None:
        self.started = now
        self.since_1970 = None


@dataclass
class Log:
    """Windows of one format of the flash. Positions count up without a wrap; `sequence` is what the profile calls them."""

    identity: int
    base: int  # sequence of the first window
    seed: int
    capacity: int
    oldest: int = 0  # position
    windows: list[bytes] = field(default_factory=list)  # every window ever produced, by position
    sent: int = -1  # highest position ever sent
    overwritten: int = -1  # highest position that was overwritten and not covered by a clear since

    @property
    def next(self) -> int:
        return len(self.windows)

    def sequence(self, position: int) -> int:
        return (self.base + position) % UINT32

    def position(self, sequence: int) -> int:
        """By serial-number arithmetic (RFC 1982): the position nearest to the oldest window's."""
        distance = (sequence - self.sequence(self.oldest)) % UINT32
        return self.oldest + (distance - UINT32 if distance >= UINT32 // 2 else distance)

    def holds(self, position: int) -> bool:
        return self.oldest <= position < self.next

    def produce(self, time: int) -> tuple[int, bytes | None]:
        """Appends a window. Returns its position, and the window that had to make room."""
        sequence = self.sequence(self.next)
        samples = hashlib.shake_128(struct.pack("<QII", self.seed, self.identity, sequence)).digest(SAMPLES_LENGTH)
        self.windows.append(make_window(sequence, time, samples))
        lost = None
        if self.next - self.oldest > self.capacity:
            lost = self.windows[self.oldest]
            self.overwritten = self.oldest
            self.oldest += 1
        return self.next - 1, lost

    def clear(self, through: int) -> bool:
        """Forgets up to and including a position. False: refused."""
        if through < self.oldest:
            self._settle(through)
            return True
        if through >= self.next or through > self.sent:
            return False
        self.oldest = through + 1
        self._settle(through)
        return True

    def _settle(self, through: int) -> None:
        # A clear that ends before what was overwritten does not cover it.
        if self.overwritten <= through:
            self.overwritten = -1


@dataclass
class Read:
    """A running read."""

    log: int
    position: int
    end: int
    sent: int = 0


def answer(opcode: int, result: Result, payload: bytes = b"") -> bytes:
    return bytes([ANSWER, opcode, result]) + payload


class Collar:
    """The whole collar but for its link. `now` is a steady clock in seconds."""

    def __init__(
        self,
        serial: str,
        now: float,
        *,
        seed: int = 0,
        capacity: int = 100_000,
        first: int = 0,
        firmware: str = "1.0.0",
        battery: int = 80,
    ) -> None:
        self.serial = serial
        self.firmware = firmware
        self.battery = battery
        self.charging = False
        self.capacity = capacity
        self.first = first
        self.seed = seed
        self._random = random.Random(f"{serial}/{seed}")
        self.clock = Clock(started=now)
        self.logs: list[Log] = []
        self.read: Read | None = None
        self.flash_errors: dict[int, int] = {}  # position in the present log: how many reads of it still fail
        self.disturbed: dict[int, int] = {}  # position: how many sends of it still go out with a flipped bit
        self.refusals = 0  # so many reads still are answered by "busy"
        self.books = Books()
        self._new_log()

    # The flash

    @property
    def log(self) -> Log:
        return self.logs[-1]

    def _new_log(self) -> None:
        taken = {log.identity for log in self.logs}
        while (number := self._random.getrandbits(32)) in taken:
            pass
        self.logs.append(Log(number, self.first if not self.logs else 0, self.seed, self.capacity))
        self.flash_errors.clear()
        self.disturbed.clear()

    def produce(self, now: float, count: int = 1) -> None:
        for _ in range(count):
            self.produce_at(self.clock.seconds(now))

    def produce_at(self, time: int) -> None:
        position, lost = self.log.produce(time)
        self.books.produced += 1
        if lost is not None:
            self.books.overwritten.append((self.log.identity, self.log.sequence(position - self.capacity)))

    def backlog(self, count: int, now: float) -> None:
        """Windows recorded one a second up to now."""
        end = self.clock.seconds(now)
        for number in range(count):
            self.produce_at(max(0, end - count + number))

    def format(self) -> None:
        """A new log. A read that runs ends by `next_of_read`, with the wrong log."""
        held = self.log.next - self.log.oldest
        if held:
            self.books.formatted.append((self.log.identity, self.log.sequence(self.log.oldest), held))
        self.log.oldest = self.log.next
        self._new_log()

    # Beta Metrics

    def metrics(self, now: float) -> bytes:
        log = self.log
        flags = Flags(0)
        if self.clock.is_set:
            flags |= Flags.CLOCK_SET
        if self.charging:
            flags |= Flags.CHARGING
        if log.overwritten >= 0:
            flags |= Flags.OVERWRITTEN
        if self.read is not None:
            flags |= Flags.TRANSFER
        return struct.pack(
            "<BBBBIIII",
            1,
            flags,
            self.battery,
            0,
            log.identity,
            log.sequence(log.oldest),
            log.sequence(log.next),
            self.clock.seconds(now) % UINT32,
        )

    # The Control Point

    def _range(self) -> bytes:
        return struct.pack("<II", self.log.sequence(self.log.oldest), self.log.sequence(self.log.next))

    def request(self, value: bytes, now: float, mtu: int) -> list[bytes]:
        """Serves one written request. Returns the answers that are due at once, in order: none when a read has begun, which
        `next_of_read` answers; two when a read was stopped."""
        code = value[0]
        if code not in REQUEST_LENGTHS:
            return [answer(code, Result.NOT_SUPPORTED)]
        opcode = Opcode(code)
        if len(value) != REQUEST_LENGTHS[opcode]:
            return [answer(code, Result.BAD_LENGTH)]
        match opcode:
            case Opcode.READ_RANGE:
                return self._begin_read(*struct.unpack("<III", value[1:]))
            case Opcode.STOP:
                stopped = [self._end_read(Result.OK)] if self.read is not None else []
                return [*stopped, answer(code, Result.OK)]
            case Opcode.CLEAR:
                return [self._clear(*struct.unpack("<II", value[1:]), now)]
            case Opcode.SET_TIME:
                self.clock.set(now, *struct.unpack("<I", value[1:]))
                self.books.times_set += 1
                return [answer(code, Result.OK)]
            case Opcode.STATUS:
                # 3 octets of answer and 20 of metrics, in an indication.
                if mtu < ATT_HEADER_LENGTH + 23:
                    return [answer(code, Result.NOT_SUPPORTED)]
                return [answer(code, Result.OK, self.metrics(now))]

    def _begin_read(self, log: int, first: int, count: int) -> list[bytes]:
        code = Opcode.READ_RANGE
        if self.read is not None:
            return [answer(code, Result.BUSY)]
        if self.refusals > 0:
            self.refusals -= 1
            return [answer(code, Result.BUSY)]
        if log != self.log.identity:
            return [answer(code, Result.WRONG_LOG)]
        if count == 0:
            return [answer(code, Result.OK, struct.pack("<I", 0))]
        position = self.log.position(first)
        if not (self.log.holds(position) and self.log.holds(position + count - 1)):
            return [answer(code, Result.NOT_HELD, self._range())]
        self.read = Read(log, position, position + count)
        self.books.reads += 1
        return []

    def _end_read(self, result: Result, payload: bytes | None = None) -> bytes:
        read, self.read = self.read, None
        if payload is None:
            payload = struct.pack("<I", read.sent)
        return answer(Opcode.READ_RANGE, result, payload)

    def next_of_read(self) -> tuple[bytes | None, bytes | None]:
        """What the running read sends now: (window, None), or (None, the answer) when that was all."""
        read, log = self.read, self.log
        if log.identity != read.log:
            return None, self._end_read(Result.WRONG_LOG, b"")
        if read.position >= read.end:
            return None, self._end_read(Result.OK)
        if not log.holds(read.position):
            return None, self._end_read(Result.NOT_HELD, self._range())
        if self._fails(self.flash_errors, read.position):
            return None, self._end_read(Result.FLASH_ERROR, struct.pack("<I", log.sequence(read.position)))
        window = log.windows[read.position]
        log.sent = max(log.sent, read.position)
        if self._fails(self.disturbed, read.position):
            window = window[:100] + bytes([window[100] ^ 1]) + window[101:]
        read.position += 1
        read.sent += 1
        self.books.windows_sent += 1
        return window, None

    @staticmethod
    def _fails(faults: dict[int, int], position: int) -> bool:
        left = faults.get(position, 0)
        if left == 0:
            return False
        faults[position] = left - 1
        return True

    def link_ended(self) -> None:
        self.read = None

    def _clear(self, log: int, through: int, now: float) -> bytes:
        if log != self.log.identity:
            return answer(Opcode.CLEAR, Result.WRONG_LOG)
        if not self.log.clear(self.log.position(through)):
            self.books.clears_refused += 1
            return answer(Opcode.CLEAR, Result.CLEAR_REFUSED)
        self.books.clears.append((log, through, now))
        return answer(Opcode.CLEAR, Result.OK, self._range())

    # The books

    def account(self, now: float) -> dict:
        log = self.log
        return {
            "serial": self.serial,
            "log": log.identity,
            "oldest": log.sequence(log.oldest),
            "next": log.sequence(log.next),
            "held": log.next - log.oldest,
            "produced": self.books.produced,
            "logs": [{"log": each.identity, "first": each.base, "count": each.next} for each in self.logs],
            "overwritten": len(self.books.overwritten),
            "overwritten_windows": [{"log": each, "sequence": sequence} for each, sequence in self.books.overwritten],
            "formatted_away_ranges": [
                {"log": each, "first": first, "count": count} for each, first, count in self.books.formatted
            ],
            "clears": [
                {"log": each, "through": through, "at_boottime_ns": int(at * 1e9)} for each, through, at in self.books.clears
            ],
            "clears_refused": self.books.clears_refused,
            "reads": self.books.reads,
            "windows_sent": self.books.windows_sent,
            "times_set": self.books.times_set,
            "clock_set": self.clock.is_set,
            "at_boottime_ns": int(now * 1e9),
        }

    def digests(self, log: int, first: int, count: int) -> list[dict]:
        """SHA-256 of the windows as the flash held them, of those that were ever produced."""
        for each in self.logs:
            if each.identity == log:
                start = (first - each.base) % UINT32
                return [
                    {"sequence": each.sequence(start + number), "sha256": hashlib.sha256(window).hexdigest()}
                    for number, window in enumerate(each.windows[start : start + count])
                ]
        return []


@dataclass
class Books:
    """What happened, for whoever compares it with what the backend holds."""

    produced: int = 0
    overwritten: list[tuple[int, int]] = field(default_factory=list)
    formatted: list[tuple[int, int, int]] = field(default_factory=list)
    clears: list[tuple[int, int, float]] = field(default_factory=list)
    clears_refused: int = 0
    reads: int = 0
    windows_sent: int = 0
    times_set: int = 0
