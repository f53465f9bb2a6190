"""A cuff of the BP2 family, without its radio: frames in, frames out.

Written from the public descriptions of the protocol. Nothing here sends or knows of Bluetooth; `bp2_services.py` puts it on a GATT server.
"""

from __future__ import annotations

import struct
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta

STATE, INFO, BATTERY, SET_TIME, LIST, START, DATA, END = 0x06, 0xE1, 0xE4, 0xEC, 0xF1, 0xF2, 0xF3, 0xF4
OK, REFUSED = 1, 0xE1
READY, MEASURING = 3, 4
EPOCH = datetime(1970, 1, 1)
READINGS = "bp2nibp.list"
HEADER, RECORD, RING = 10, 37, 50  # octets, and readings


def crc8(data: bytes) -> int:
    crc = 0
    for octet in data:
        crc ^= octet
        for _ in range(8):
            crc = (crc << 1 ^ 0x07) & 0xFF if crc & 0x80 else crc << 1
    return crc


def frame(command: int, kind: int, sequence: int, payload: bytes = b"") -> bytes:
    head = struct.pack("<BBBBBH", 0xA5, command, command ^ 0xFF, kind, sequence, len(payload)) + payload
    return head + bytes([crc8(head)])


def local_seconds(time: datetime) -> int:
    """Local time on the wall as a count of seconds."""
    return int((time - EPOCH).total_seconds())


def reading_file(time: datetime, systolic: int, diastolic: int, mean: int, pulse: int, irregular: bool = False) -> bytes:
    return struct.pack("<BBI5xHHHBB19x", 1, 1, local_seconds(time), systolic, diastolic, mean, pulse, irregular)


def ecg_file(time: datetime) -> bytes:
    return struct.pack("<BBI42x", 1, 2, local_seconds(time)) + bytes(2_000)


def record(time: datetime, user: int, systolic: int, diastolic: int, mean: int, pulse: int, irregular: bool = False) -> bytes:
    return struct.pack("<II5xHHHBB16x", local_seconds(time), user, systolic, diastolic, mean, pulse, irregular)


def into_ring(ring: bytes, reading: bytes) -> bytes:
    """The list of readings with one more: in the place of the oldest, once all are taken."""
    places = range(HEADER, len(ring), RECORD)
    if len(places) < RING:
        return ring + reading
    oldest = min(places, key=lambda place: ring[place : place + 4][::-1])
    return ring[:oldest] + reading + ring[oldest + RECORD :]


@dataclass
class Link:
    """What was asked of it on one link: commands, files that were opened and read from, frames that were none."""

    commands: list[int] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    nonsense: int = 0


@dataclass
class BP2:
    """
    keeps_list    a W model: all readings in bp2nibp.list
    single_file   a second file is refused on the same link
    part          octets of a file that one answer carries
    """

    serial: str
    keeps_list: bool = False
    single_file: bool = False
    part: int = 512
    clock: float = 0  # seconds ahead of the true time
    activity: int = READY
    files: dict[str, bytes] = field(default_factory=dict)
    commands: list[int] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    measured: list[dict] = field(default_factory=list)
    clock_was: tuple[datetime, float] | None = None  # until when, and what it was ahead before it was set
    _open: str | None = None
    _used: bool = False
    _buffer: bytes = b""

    def fill(self, count: int, now: datetime) -> None:
        """Readings an hour apart, in no order, with an electrocardiogram between them."""
        if self.keeps_list:
            self.files[READINGS] = bytes([1, 1]) + bytes(8)
        places = list(range(count))
        for place in places[::2] + places[1::2]:
            self.measure(now, 3600 * place, 1 + len(self.measured) % 2, place)
        if self.keeps_list:
            self.files["bp2ecg.list"] = bytes(10)
        else:
            time = self._shown(now) - timedelta(minutes=30)
            self.files[f"{time:%Y%m%d%H%M%S}"] = ecg_file(time)

    def _shown(self, moment: datetime) -> datetime:
        """What its clock showed then."""
        ahead = self.clock_was[1] if self.clock_was and moment < self.clock_was[0] else self.clock
        return (moment + timedelta(seconds=round(ahead))).replace(microsecond=0)

    def measure(self, now: datetime, ago: float = 0, user: int = 1, number: int | None = None) -> None:
        """A reading taken so many seconds ago, each other than the others; the one in whose place it comes is gone."""
        number = len(self.measured) if number is None else number
        taken = now.replace(microsecond=0) - timedelta(seconds=ago)
        time = self._shown(now - timedelta(seconds=ago))
        found = (110 + number, 70 + number % 20, 85 + number % 20, 60 + number % 30)
        irregular = number % 5 == 0
        if self.keeps_list:
            octets = record(time, user, *found, irregular)
            self.files[READINGS] = into_ring(self.files[READINGS], octets)
        else:
            octets = reading_file(time, *found, irregular)
            self.files[f"{time:%Y%m%d%H%M%S}"] = octets
            readings = [name for name, content in self.files.items() if len(content) == len(octets)]
            if len(readings) > RING:
                del self.files[min(readings)]
        self.measured.append({
            **dict(zip(("systolic", "diastolic", "mean", "pulse"), found)), "user": user if self.keeps_list else None, "status": 4 if irregular else 0, "kpa": False,
            "time": time.isoformat(), "taken": taken.isoformat(), "octets": octets.hex(),
        })

    def link_began(self) -> None:
        self._open, self._used, self._buffer = None, False, b""
        self.links.append(Link())

    def books(self) -> dict:
        """All that it measured, and for each link what was asked of it."""
        files = set(self.files.values())
        ring = self.files.get(READINGS, b"")
        held = files | {ring[place : place + RECORD] for place in range(HEADER, len(ring), RECORD)}
        return {
            "clock": self.clock, "clock_was": self.clock_was and [self.clock_was[0].isoformat(), self.clock_was[1]], "commands": self.commands, "opened": self.opened, "links_seen": [asdict(link) for link in self.links],
            "files": {name: octets.hex() for name, octets in self.files.items()},
            "readings": [{**each, "held": bytes.fromhex(each["octets"]) in held} for each in self.measured],
        }

    def restore(self, books: dict) -> None:
        """Takes up the books of a cuff that was switched off."""
        self.clock = books["clock"]
        self.clock_was = books["clock_was"] and (datetime.fromisoformat(books["clock_was"][0]), books["clock_was"][1])
        self.commands, self.opened = books["commands"], books["opened"]
        self.links = [Link(**link) for link in books["links_seen"]]
        self.files = {name: bytes.fromhex(octets) for name, octets in books["files"].items()}
        self.measured = [{name: value for name, value in row.items() if name != "held"} for row in books["readings"]]

    def written(self, octets: bytes, now: datetime) -> list[bytes]:
        """What is answered to octets of the write characteristic."""
        self._buffer += octets
        answers = []
        while len(self._buffer) >= 8:
            length = 8 + int.from_bytes(self._buffer[5:7], "little")
            if len(self._buffer) < length:
                break
            request, self._buffer = self._buffer[:length], self._buffer[length:]
            if request[0] != 0xA5 or request[1] ^ request[2] != 0xFF or crc8(request[:-1]) != request[-1]:
                self._buffer = b""
                self.links[-1].nonsense += 1
                break
            self.commands.append(request[1])
            self.links[-1].commands.append(request[1])
            answer = self._answer(request[1], request[7:-1], now)
            if answer is not None:
                answers.append(frame(request[1], answer[0], request[4], answer[1]))
        return answers

    def _answer(self, command: int, payload: bytes, now: datetime) -> tuple[int, bytes] | None:
        match command:
            case 0xE1:
                return OK, self._info(now)
            case 0x06:
                return OK, struct.pack("<BBBHxxxx", self.activity, 0, 80, 3_900)
            case 0xE4:
                return OK, struct.pack("<BBH", 0, 80, 3_900)
            case 0xEC:
                self.clock_was = (now, self.clock)
                self.clock = (datetime(*struct.unpack("<HBBBBB", payload)) - now).total_seconds()
                return OK, b""
            case 0xF1:
                return OK, bytes([len(self.files)]) + b"".join(name.encode().ljust(16, b"\0") for name in self.files)
            case 0xF2:
                return self._start(payload)
            case 0xF3 if self._open is not None:
                start = int.from_bytes(payload, "little")
                self.links[-1].read.append(self._open)
                return OK, self.files[self._open][start : start + self.part]
            case 0xF4:
                self._open = None
                return OK, b""
        return REFUSED, b""

    def _start(self, payload: bytes) -> tuple[int, bytes] | None:
        name = payload[:16].rstrip(b"\0").decode()
        if self.activity == MEASURING:
            return None  # it has no time for this, and says nothing
        if name not in self.files or len(payload) != 20 or (self.single_file and self._used):
            return REFUSED, b""
        self.opened.append(name)
        self.links[-1].opened.append(name)
        self._open, self._used = name, True
        return OK, struct.pack("<I", len(self.files[name]))

    def _info(self, now: datetime) -> bytes:
        time = now + timedelta(seconds=self.clock)
        clock = struct.pack("<HBBBBB", time.year, time.month, time.day, time.hour, time.minute, time.second)
        serial = self.serial.encode()
        return (bytes([66, 0, 1, 1, 1]) + bytes(4) + b"32120011" + bytes(7) + clock + bytes(6) + bytes([len(serial)]) + serial).ljust(60, b"\0")
