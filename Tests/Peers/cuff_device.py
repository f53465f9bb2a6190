"""The cuffs of cuff.py and bp2.py on the air: they advertise while they have something, and a while after a measurement."""

from __future__ import annotations

import asyncio
from datetime import datetime

from bumble.core import UUID, AdvertisingData
from bumble.device import Connection
from bumble.gatt import Characteristic

from bp2 import BP2
from bp2_services import SERVICE as BP2_SERVICE
from bp2_services import BP2Services
from cuff import Cuff, Reading
from cuff_services import CuffServices
from peer import FLAGS, Event, Peer
from virtual_radio import Air

BLOOD_PRESSURE = UUID.from_16_bits(0x1810)


class CuffDevice(Peer):
    """
    readings      in the memory at the start
    order         "oldest" or "newest" first
    deletes       whether a confirmed reading is forgotten
    drops         whether the link is ended after the last confirmation
    takes         what a time write does: "sets", "refuses" (0x80) or "keeps"
    behind        seconds by which the clock is behind
    time_in       "current-time" or "date-time"
    secure        whether measurements need an encrypted link
    quiet         whether it advertises only while it has readings, as most do
    """

    def __init__(
        self, air: Air, serial: str, address: str, emit: Event, *, readings: int = 0, order: str = "oldest", deletes: bool = True, drops: bool = True,
        takes: str = "sets", behind: int = 0, time_in: str = "current-time", secure: bool = True, quiet: bool = True, records: bool = False, **peer,
    ) -> None:
        super().__init__(air, serial, address, emit, bondable=secure, **peer)
        self.cuff = Cuff(serial, order, deletes, -behind, takes)
        self.cuff.fill(readings, datetime.now())
        self.quiet = quiet
        self.services = CuffServices(
            self.cuff, notify=self._notify, indicate=self._indicate, when_sent=self._sent if drops else None, time_in=time_in, records=records,
            secure=self.secured_configuration if secure else None, room=lambda: (self.connection.att_mtu if self.connection else 23) - 3,
        )
        self.device.add_services(self.services.services)

    def advertisement(self) -> tuple[bytes, bytes]:
        service = (AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, bytes(BLOOD_PRESSURE))
        return bytes(AdvertisingData([FLAGS, service])), bytes(AdvertisingData([(AdvertisingData.COMPLETE_LOCAL_NAME, b"Example BP")]))

    async def advertise(self) -> None:
        if not self.quiet or self.cuff.readings:
            await super().advertise()

    def on_link_ended(self) -> None:
        self.services.link_ended()

    def on_subscription(self, characteristic: Characteristic, value: int) -> None:
        self.services.subscribed(characteristic, value)

    async def _notify(self, characteristic: Characteristic, value: bytes) -> None:
        if self.connection is not None:
            await self.device.notify_subscriber(self.connection, characteristic, value)

    async def _indicate(self, characteristic: Characteristic, value: bytes) -> None:
        connection: Connection | None = self.connection
        if connection is None:
            raise ConnectionError("no link")
        await self.device.indicate_subscriber(connection, characteristic, value)
        self.tell("confirmed", value=value.hex())

    async def _sent(self) -> None:
        await self.drop()

    async def serve(self, request: dict) -> dict:
        match request:
            case {"do": "measure", "systolic": int(systolic), "diastolic": int(diastolic)}:
                time = self.cuff.time(datetime.now())
                self.cuff.readings.append(Reading(systolic, diastolic, (systolic + 2 * diastolic) // 3, 60, time and time.replace(microsecond=0), request.get("user", 1), 0))
                asyncio.get_running_loop().create_task(self.advertise())
                return {"ok": True}
            case {"query": "books"}:
                return {"confirmed": [value.hex() for value in self.cuff.confirmed], "held": [each.measurement().hex() for each in self.cuff.readings],
                        "clock": self.cuff.clock, "time_writes": [value.hex() for value in self.cuff.time_writes]}
            case _:
                return await super().serve(request)


class BP2Device(Peer):
    """
    readings      in the memory at the start
    keeps_list    a W model
    single_file   a second file is refused on the same link
    behind        seconds by which the clock is behind
    """

    def __init__(
        self, air: Air, serial: str, address: str, emit: Event, *, readings: int = 0, keeps_list: bool = False, single_file: bool = False, behind: int = 0, **peer,
    ) -> None:
        super().__init__(air, serial, address, emit, bondable=False, **peer)
        self.cuff = BP2(serial, keeps_list, single_file, clock=-behind)
        self.cuff.fill(readings, datetime.now())
        self.services = BP2Services(self.cuff, notify=self._notify, room=lambda: (self.connection.att_mtu if self.connection else 23) - 3)
        self.device.add_services(self.services.services)

    def advertisement(self) -> tuple[bytes, bytes]:
        name = (AdvertisingData.COMPLETE_LOCAL_NAME, f"BP2 {self.name[-4:]}".encode())
        service = (AdvertisingData.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS, bytes(BP2_SERVICE))
        return bytes(AdvertisingData([FLAGS, name])), bytes(AdvertisingData([service]))

    def on_link(self, connection: Connection) -> None:
        self.cuff.link_began()

    async def _notify(self, characteristic: Characteristic, value: bytes) -> None:
        if self.connection is not None:
            await self.device.notify_subscriber(self.connection, characteristic, value)

    async def serve(self, request: dict) -> dict:
        match request:
            case {"query": "books"}:
                return {"commands": self.cuff.commands, "opened": self.cuff.opened, "files": {name: octets.hex() for name, octets in self.cuff.files.items()}, "clock": self.cuff.clock}
            case _:
                return await super().serve(request)
