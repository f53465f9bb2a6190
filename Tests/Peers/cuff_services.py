"""The cuff of cuff.py as services of a Bumble attribute server, whatever carries its PDUs.

  180A  2A25 serial number, 2A24 model, 2A29 maker      read
  180F  2A19 battery level                              read
  1805  2A2B current time                               read, write           (with time_in="current-time")
  1810  2A35 blood pressure measurement                 indicate
        2A36 intermediate cuff pressure                 notify
        2A49 feature                                    read
        2A08 date time                                  read, write           (with time_in="date-time")
        2B36 record, 2A52 record access control point   notify; write, indicate (with records)

Once measurements are subscribed, the memory is sent: each reading after the confirmation of the one before it. `when_sent` is called after the last confirmation,
`when_unconfirmed` when one did not come within the 30 s of the ATT transaction. A cuff with records waits to be asked for them instead.
"""

from __future__ import annotations

import asyncio
import struct
import time
from collections.abc import Awaitable, Callable
from datetime import datetime

from bumble import att
from bumble.core import UUID
from bumble.gatt import Attribute, Characteristic, CharacteristicValue, Service

from cuff import Cuff, Reading, date_time, segments

PROPERTIES = Characteristic.Properties
Send = Callable[[Characteristic, bytes], Awaitable[None]]


def boottime_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def readable(uuid: int, value: Callable[[], bytes]) -> Characteristic:
    return Characteristic(UUID.from_16_bits(uuid), PROPERTIES.READ, Characteristic.READABLE, CharacteristicValue(read=lambda _bearer: value()))


class CuffServices:
    def __init__(
        self, cuff: Cuff, *, notify: Send, indicate: Send, when_sent: Callable[[], Awaitable[None]] | None = None,
        when_unconfirmed: Callable[[], Awaitable[None]] | None = None, time_in: str = "current-time", pause: float = 0,
        records: bool = False, crc: bool = False, secure: Callable[[Characteristic], Characteristic] | None = None, room: Callable[[], int] = lambda: 20,
        now: Callable[[], datetime] = datetime.now,
    ) -> None:
        self.cuff = cuff
        self.battery = 80
        self._notify, self._indicate, self._when_sent, self._room, self._now = notify, indicate, when_sent, room, now
        self._when_unconfirmed, self._pause = when_unconfirmed, pause
        self._records, self._crc = records, crc
        self._sending: asyncio.Task | None = None
        self._subscribed = False
        self._sent: list[Reading] = []  # on this link
        guarded = secure or (lambda characteristic: characteristic)
        self.measurement = guarded(Characteristic(UUID.from_16_bits(0x2A35), PROPERTIES.INDICATE, Attribute.Permissions(0), b""))
        self.intermediate = Characteristic(UUID.from_16_bits(0x2A36), PROPERTIES.NOTIFY, Attribute.Permissions(0), b"")
        pressure = [self.measurement, self.intermediate, readable(0x2A49, lambda: struct.pack("<H", 0x3F | 0x40 * crc))]
        clock = Characteristic(
            UUID.from_16_bits(0x2A08 if time_in == "date-time" else 0x2A2B), PROPERTIES.READ | PROPERTIES.WRITE, Characteristic.READABLE | Characteristic.WRITEABLE,
            CharacteristicValue(read=lambda _bearer: self._time(time_in), write=self._write_time),
        )
        if time_in == "date-time":
            pressure.append(clock)
        self.record = Characteristic(UUID.from_16_bits(0x2B36), PROPERTIES.NOTIFY, Attribute.Permissions(0), b"")
        self.access = Characteristic(
            UUID.from_16_bits(0x2A52), PROPERTIES.WRITE | PROPERTIES.INDICATE, Characteristic.WRITEABLE, CharacteristicValue(write=self._access)
        )
        if records:
            pressure += [self.record, self.access]
        self.services = [
            Service(UUID.from_16_bits(0x180A), [
                readable(0x2A25, lambda: cuff.serial.encode()), readable(0x2A24, lambda: b"B1"), readable(0x2A29, lambda: b"Example"),
            ]),
            Service(UUID.from_16_bits(0x180F), [readable(0x2A19, lambda: bytes([self.battery]))]),
            Service(UUID.from_16_bits(0x1810), pressure),
        ]
        if time_in == "current-time":
            self.services.insert(2, Service(UUID.from_16_bits(0x1805), [clock]))

    def subscribed(self, characteristic: Characteristic, value: int) -> None:
        """A Client Characteristic Configuration was written."""
        if characteristic is self.measurement and not self._records:
            self._subscribed = bool(value & 2)
            self.send()

    def send(self) -> None:
        """Sends what this link has not had, to one who subscribed."""
        if self._subscribed and self._sending is None:
            self._sending = asyncio.get_running_loop().create_task(self._send())

    def link_ended(self) -> None:
        self._subscribed, self._sent = False, []
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None

    async def measure(self) -> None:
        """Inflates in steps that are shown, and sends what it found as one who is linked."""
        for pressure in (40, 90, 140, 180, 120):
            await self._notify(self.intermediate, struct.pack("<BHHH", 0, pressure, 0x07FF, 0x07FF))

    async def _send(self) -> None:
        try:
            while reading := next((each for each in self.cuff.pending() if all(each is not sent for sent in self._sent)), None):
                self._sent.append(reading)
                self.cuff.was_sent(reading, boottime_ns())
                await self._indicate(self.measurement, self.cuff.measurement(reading))
                self.cuff.was_confirmed(reading, boottime_ns())
                await asyncio.sleep(self._pause)
            if self._when_sent is not None:
                await self._when_sent()
        except TimeoutError:
            if self._when_unconfirmed is not None:
                await self._when_unconfirmed()
        except ConnectionError:
            pass  # it keeps what was not confirmed
        finally:
            if self._sending is asyncio.current_task():
                self._sending = None

    def _time(self, time_in: str) -> bytes:
        shown = self.cuff.time(self._now())
        if time_in == "date-time":
            return date_time(shown)
        return date_time(shown) + (bytes(3) if shown is None else bytes([shown.isoweekday(), shown.microsecond * 256 // 1_000_000, 0]))

    def _write_time(self, _bearer, value: bytes) -> None:
        error = self.cuff.write_time(bytes(value), self._now())
        if error is not None:
            raise att.ATT_Error(error_code=error)

    def _access(self, _bearer, value: bytes) -> None:
        asyncio.get_running_loop().create_task(self._answer_access(bytes(value)))

    async def _answer_access(self, request: bytes) -> None:
        numbered = [(self.cuff.first_sequence + place, reading) for place, reading in enumerate(self.cuff.readings)]
        match tuple(request):
            case (_, 1):
                pass
            case (_, 3, 1, low, high):
                numbered = [each for each in numbered if each[0] >= low | high << 8]
            case _:
                return await self._indicate(self.access, bytes([6, 0, request[0] if request else 0, 3]))
        if request[0] == 4:
            return await self._indicate(self.access, struct.pack("<BBH", 5, 0, len(numbered)))
        if request[0] != 1:
            return await self._indicate(self.access, bytes([6, 0, request[0], 2]))
        for sequence, reading in numbered:
            enhanced = sequence % 2 == 1
            value = reading.enhanced() if enhanced else self.cuff.measurement(reading)
            for segment in segments(sequence, 0x2B34 if enhanced else 0x2A35, value, self._room(), self._crc):
                await self._notify(self.record, segment)
        await self._indicate(self.access, bytes([6, 0, 1, 1 if numbered else 6]))
