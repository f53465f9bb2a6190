"""A blood-pressure cuff of the Bluetooth SIG's Blood Pressure Service 1.1, without its radio: what it measured, its memory, its clock.

Written from the service's documents alone. Nothing here sends or knows of Bluetooth; `cuff_services.py` puts it on a GATT server.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from datetime import datetime, timedelta

NAN = 0x07FF
KPA, TIME_STAMP, PULSE_RATE, USER_ID, STATUS = (1 << bit for bit in range(5))
EPOCH_2000 = 1 << 6
REFUSES_TIME = 0x80  # an application error, as real cuffs answer a time write


def sfloat(value: float | None, exponent: int = 0) -> int:
    """IEEE 11073-20601: 4 bits of exponent, 12 of mantissa. None is not a number."""
    if value is None:
        return NAN
    mantissa = round(value * 10**-exponent)
    assert -2046 < mantissa < 2046
    return (exponent & 0xF) << 12 | mantissa & 0xFFF


def date_time(time: datetime | None) -> bytes:
    """Date Time, 0x2A08: all zeros when it is not known."""
    return bytes(7) if time is None else struct.pack("<HBBBBB", time.year, time.month, time.day, time.hour, time.minute, time.second)


def read_date_time(value: bytes) -> datetime:
    return datetime(*struct.unpack("<HBBBBB", value[:7]))


def crc_e2e(data: bytes) -> int:
    """E2E-CRC: x^16 + x^12 + x^5 + 1, 0xFFFF to begin with, low bits first."""
    crc = 0xFFFF
    for octet in data:
        for bit in range(8):
            carry = (crc ^ octet >> bit) & 1
            crc = crc >> 1 ^ (0x8408 if carry else 0)
    return crc


@dataclass
class Reading:
    """`time` is what the cuff's clock showed, `taken` when it really was."""

    systolic: float | None
    diastolic: float | None
    mean: float | None
    pulse: float | None = None
    time: datetime | None = None
    user: int | None = None
    status: int | None = None
    kpa: bool = False
    taken: datetime | None = None

    def measurement(self, big_endian: bool = False) -> bytes:
        """Blood Pressure Measurement, 0x2A35; with pulse and status the wrong way round, as one maker sends them."""
        exponent = -1 if self.kpa else 0
        flags = KPA * self.kpa
        order = ">H" if big_endian else "<H"
        body = struct.pack("<HHH", *(sfloat(value, exponent) for value in (self.systolic, self.diastolic, self.mean)))
        for bit, present, octets in (
            (TIME_STAMP, self.time is not None, date_time(self.time)),
            (PULSE_RATE, self.pulse is not None, struct.pack(order, sfloat(self.pulse))),
            (USER_ID, self.user is not None, bytes([self.user or 0])),
            (STATUS, self.status is not None, struct.pack(order, self.status or 0)),
        ):
            if present:
                flags |= bit
                body += octets
        return bytes([flags]) + body

    def enhanced(self) -> bytes:
        """Enhanced Blood Pressure Measurement, 0x2B34, with seconds since 2000 as its time stamp."""
        plain = Reading(self.systolic, self.diastolic, self.mean, self.pulse, None, self.user, self.status, self.kpa).measurement()
        if self.time is None:
            return plain
        stamp = struct.pack("<I", int((self.time - datetime(2000, 1, 1)).total_seconds()))
        return bytes([plain[0] | TIME_STAMP | EPOCH_2000]) + plain[1:7] + stamp + plain[7:]


def segments(sequence: int, uuid: int, value: bytes, room: int, crc: bool) -> list[bytes]:
    """A Blood Pressure Record, 0x2B36, in notifications of at most `room` octets."""
    record = struct.pack("<HH", sequence, uuid) + value
    if crc:
        record += struct.pack("<H", crc_e2e(record))
    pieces = [record[start : start + room - 1] for start in range(0, len(record), room - 1)]
    last = len(pieces) - 1
    return [bytes([(number == 0) | (number == last) << 1 | (number & 0x3F) << 2]) + piece for number, piece in enumerate(pieces)]


def values(number: int) -> tuple[int, int, int, int]:
    """Systolic, diastolic and mean pressure and pulse of a cuff's reading by its number: none of the first hundred has the same as another."""
    return 110 + number, 70 + number % 20, 85 + number % 20, 60 + number % 30


@dataclass
class Cuff:
    """
    order       "oldest" or "newest" first, as cuffs differ
    deletes     whether a reading is forgotten once it was confirmed; else all are sent again on every link
    clock       what its clock is ahead of the true time, in seconds; None: it was never set
    clock_was   until when, and what it was ahead before it was set
    takes       what a time write does: "sets" the clock, is "refuses"d with 0x80, or "keeps" the old one without a word
    big_endian  whether pulse and status have their high octet first

    Of all that it measured it keeps books: when each reading was sent and when it heard a confirmation, both as a count of any clock that the caller has.
    """

    serial: str
    order: str = "oldest"
    deletes: bool = True
    clock: float | None = 0
    takes: str = "sets"
    readings: list[Reading] = field(default_factory=list)
    confirmed: list[bytes] = field(default_factory=list)
    time_writes: list[bytes] = field(default_factory=list)
    first_sequence: int = 0
    big_endian: bool = False
    measured: list[Reading] = field(default_factory=list)
    sent_at: list[list[int]] = field(default_factory=list)
    confirmed_at: list[list[int]] = field(default_factory=list)
    clock_was: tuple[datetime, float | None] | None = None

    def fill(self, count: int, now: datetime, user: int | None = 1) -> None:
        """Readings an hour apart, the last one just made, each other than the others."""
        for number in range(count):
            self.measure(now, 3600 * (count - 1 - number), user)

    def measure(self, now: datetime, ago: float = 0, user: int | None = 1, status: int | None = 0, failed: bool = False) -> Reading:
        """A reading taken so many seconds ago; a failed one has no pressure."""
        taken = now.replace(microsecond=0) - timedelta(seconds=ago)
        before = self.clock_was is not None and now - timedelta(seconds=ago) < self.clock_was[0]
        ahead = self.clock_was[1] if before else self.clock
        time = None if ahead is None else taken + timedelta(seconds=round(ahead))
        *pressures, pulse = values(len(self.measured))
        reading = Reading(*([None] * 3 if failed else pressures), None if failed else pulse, time, user, status, taken=taken)
        self.readings.append(reading)
        self.measured.append(reading)
        self.sent_at.append([])
        self.confirmed_at.append([])
        return reading

    def pending(self) -> list[Reading]:
        return list(self.readings if self.order == "oldest" else reversed(self.readings))

    @property
    def has_news(self) -> bool:
        """Whether it has a reading for which it never heard a confirmation."""
        return any(not self.confirmed_at[self.number(reading)] for reading in self.readings)

    def number(self, reading: Reading) -> int:
        return next(number for number, each in enumerate(self.measured) if each is reading)

    def measurement(self, reading: Reading) -> bytes:
        return reading.measurement(self.big_endian)

    def was_sent(self, reading: Reading, at: int = 0) -> None:
        self.sent_at[self.number(reading)].append(at)

    def was_confirmed(self, reading: Reading, at: int = 0) -> None:
        self.confirmed.append(self.measurement(reading))
        self.confirmed_at[self.number(reading)].append(at)
        if self.deletes:
            # Two readings may agree in every field.
            self.readings = [each for each in self.readings if each is not reading]

    def time(self, now: datetime) -> datetime | None:
        return None if self.clock is None else now + timedelta(seconds=self.clock)

    def write_time(self, value: bytes, now: datetime) -> int | None:
        """What a write does; an ATT error code, or None."""
        self.time_writes.append(value)
        if self.takes == "refuses":
            return REFUSES_TIME
        if self.takes == "sets":
            self.clock_was = (now, self.clock)
            self.clock = (read_date_time(value) - now).total_seconds()
        return None

    # What outlives a cuff that is switched off

    def books(self) -> dict:
        """All that it measured, each reading with `held`, `sent` and `confirmed`."""
        held = {id(reading) for reading in self.readings}
        return {
            "clock": self.clock, "clock_was": self.clock_was and [self.clock_was[0].isoformat(), self.clock_was[1]],
            "time_writes": [value.hex() for value in self.time_writes],
            "readings": [
                {
                    **{name: getattr(reading, name) for name in ("systolic", "diastolic", "mean", "pulse", "user", "status", "kpa")},
                    "time": reading.time and reading.time.isoformat(), "taken": reading.taken and reading.taken.isoformat(),
                    "octets": self.measurement(reading).hex(), "held": id(reading) in held, "sent": sent, "confirmed": confirmed,
                }
                for reading, sent, confirmed in zip(self.measured, self.sent_at, self.confirmed_at)
            ],
        }

    def restore(self, books: dict) -> None:
        """Takes up the books of a cuff that was switched off."""
        self.clock = books["clock"]
        self.clock_was = books["clock_was"] and (datetime.fromisoformat(books["clock_was"][0]), books["clock_was"][1])
        self.time_writes = [bytes.fromhex(value) for value in books["time_writes"]]
        self.readings, self.measured, self.sent_at, self.confirmed_at = [], [], [], []
        for row in books["readings"]:
            time, taken = (row[name] and datetime.fromisoformat(row[name]) for name in ("time", "taken"))
            reading = Reading(*(row[name] for name in ("systolic", "diastolic", "mean", "pulse")), time, row["user"], row["status"], row["kpa"], taken)
            self.measured.append(reading)
            self.sent_at.append(row["sent"])
            self.confirmed_at.append(row["confirmed"])
            if row["held"]:
                self.readings.append(reading)
