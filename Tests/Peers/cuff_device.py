"""The cuffs of cuff.py and bp2.py on the air: they advertise while they have something, and a while after a measurement."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from bumble import att
from bumble.core import UUID, AdvertisingData
from bumble.device import Connection
from bumble.gatt import Characteristic

from bp2 import BP2
from bp2_services import SERVICE as BP2_SERVICE
from bp2_services import BP2Services
from cuff import Cuff
from cuff_services import CuffServices
from peer import FLAGS, Event, Peer
from virtual_radio import Air

BLOOD_PRESSURE = UUID.from_16_bits(0x1810)


class Memory:
    """A file in which a cuff's books outlive it; none when the path is empty."""

    def __init__(self, path: str, now: Callable[[], dict]) -> None:
        self.file = Path(path) if path else None
        self._now = now

    def books(self) -> dict | None:
        return json.loads(self.file.read_text()) if self.file is not None and self.file.exists() else None

    def keep(self) -> None:
        if self.file is not None:
            beside = self.file.with_suffix(".new")
            beside.write_text(json.dumps(self._now()))
            beside.rename(self.file)


class CuffDevice(Peer):
    """
    readings      in the memory at the start, all of one `user` (0: the cuff does not say whose)
    order         "oldest" or "newest" first
    deletes       whether a confirmed reading is forgotten
    drops         whether the link is ended after the last confirmation
    takes         what a time write does: "sets", "refuses" (0x80) or "keeps"
    behind        seconds by which the clock is behind
    clockless     whether it has no time to give, and takes none
    time_in       "current-time" or "date-time"
    secure        whether measurements need an encrypted link
    bond_first    whether the link is ended when anything but the MTU is asked for before it is encrypted
    quiet         whether it advertises only while it has something that was not confirmed, as most do
    pause_ms      between a confirmation and the next reading
    model         the name that it advertises, and calls itself
    big_endian    whether pulse and status have their high octet first
    memory        a file in which its books outlive it
    """

    def __init__(
        self, air: Air, serial: str, address: str, emit: Event, *, readings: int = 0, user: int = 1, order: str = "oldest", deletes: bool = True,
        drops: bool = True, takes: str = "sets", behind: int = 0, clockless: bool = False, time_in: str = "current-time", secure: bool = True,
        bond_first: bool = False, quiet: bool = True, records: bool = False, pause_ms: int = 0, model: str = "Example BP", big_endian: bool = False,
        memory: str = "", **peer,
    ) -> None:
        super().__init__(air, serial, address, emit, bondable=secure, calls_itself=model, **peer)
        self.cuff = Cuff(serial, order, deletes, None if clockless else -behind, "refuses" if clockless else takes, big_endian=big_endian)
        self.memory = Memory(memory, self.cuff.books)
        if (books := self.memory.books()) is not None:
            self.cuff.restore(books)
        else:
            self.cuff.fill(readings, datetime.now(), user or None)
        self.quiet = quiet
        self.model = model
        self.deaf = 0  # confirmations that it will not hear
        self.unheard = 0
        self.unconfirmed = 0
        self.services = CuffServices(
            self.cuff, notify=self._notify, indicate=self._indicate, when_sent=self._sent if drops else None, when_unconfirmed=self._not_confirmed,
            time_in=time_in, pause=pause_ms / 1000, records=records, secure=self.secured_configuration if secure else None,
            room=lambda: (self.connection.att_mtu if self.connection else 23) - 3,
        )
        self.device.add_services(self.services.services)
        if bond_first:
            self._end_links_that_are_not_encrypted()

    def advertisement(self) -> tuple[bytes, bytes]:
        service = (AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, bytes(BLOOD_PRESSURE))
        return bytes(AdvertisingData([FLAGS, service])), bytes(AdvertisingData([(AdvertisingData.COMPLETE_LOCAL_NAME, self.model.encode())]))

    async def advertise(self) -> None:
        if not self.quiet or self.cuff.has_news:
            await super().advertise()

    def on_link_ended(self) -> None:
        self.services.link_ended()
        self.memory.keep()

    def on_subscription(self, characteristic: Characteristic, value: int) -> None:
        self.services.subscribed(characteristic, value)

    def _end_links_that_are_not_encrypted(self) -> None:
        server = self.device.gatt_server
        serve = server.on_gatt_pdu

        def guarded(bearer, pdu) -> None:
            if not self.connection or self.connection.is_encrypted or isinstance(pdu, att.ATT_Exchange_MTU_Request):
                serve(bearer, pdu)
            else:
                self.tell("discovered-unbonded")
                asyncio.get_running_loop().create_task(self.drop())

        server.on_gatt_pdu = guarded

    async def _notify(self, characteristic: Characteristic, value: bytes) -> None:
        if self.connection is not None:
            await self.device.notify_subscriber(self.connection, characteristic, value)

    async def _indicate(self, characteristic: Characteristic, value: bytes) -> None:
        connection: Connection | None = self.connection
        # Bumble takes no subscription for an indication that is confirmed.
        if connection is None or not self.subscriptions.get(characteristic.handle, 0) & 2:
            raise ConnectionError("nobody listens")
        self.memory.keep()
        await self.device.indicate_subscriber(connection, characteristic, value)
        if self.deaf:
            self.deaf -= 1
            self.unheard += 1
            self.tell("unheard", value=value.hex())
            self.cut(0x08)
            raise ConnectionError("the link ended before the confirmation was heard")
        self.tell("confirmed", value=value.hex())

    async def _sent(self) -> None:
        self.memory.keep()
        asyncio.get_running_loop().create_task(self.drop())

    async def _not_confirmed(self) -> None:
        """A transaction that ran out ends the bearer (Bluetooth Core, Vol 3, Part F, 3.3.3)."""
        self.unconfirmed += 1
        self.tell("unconfirmed")
        asyncio.get_running_loop().create_task(self.drop())

    async def serve(self, request: dict) -> dict:
        match request:
            case {"do": "measure"}:
                self.cuff.measure(datetime.now(), **{key: request[key] for key in ("ago", "user", "status", "failed") if key in request})
                self.memory.keep()
                self.services.send()
                asyncio.get_running_loop().create_task(self.advertise())
            case {"do": "deaf", "count": int(count)}:
                self.deaf = count
            case {"query": "books"}:
                return {**self.state(), **self.cuff.books(), "unheard": self.unheard, "unconfirmed": self.unconfirmed}
            case _:
                return await super().serve(request)
        return {"ok": True}


class BP2Device(Peer):
    """
    readings      in the memory at the start
    keeps_list    a W model
    single_file   a second file is refused on the same link
    behind        seconds by which the clock is behind
    memory        a file in which its books outlive it
    """

    def __init__(
        self, air: Air, serial: str, address: str, emit: Event, *, readings: int = 0, keeps_list: bool = False, single_file: bool = False, behind: int = 0,
        memory: str = "", **peer,
    ) -> None:
        super().__init__(air, serial, address, emit, bondable=False, **peer)
        self.cuff = BP2(serial, keeps_list, single_file, clock=-behind)
        self.memory = Memory(memory, self.cuff.books)
        if (books := self.memory.books()) is not None:
            self.cuff.restore(books)
        else:
            self.cuff.fill(readings, datetime.now())
        self.services = BP2Services(self.cuff, notify=self._notify, room=lambda: (self.connection.att_mtu if self.connection else 23) - 3)
        self.device.add_services(self.services.services)

    def advertisement(self) -> tuple[bytes, bytes]:
        name = (AdvertisingData.COMPLETE_LOCAL_NAME, f"BP2 {self.name[-4:]}".encode())
        service = (AdvertisingData.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS, bytes(BP2_SERVICE))
        return bytes(AdvertisingData([FLAGS, name])), bytes(AdvertisingData([service]))

    def on_link(self, connection: Connection) -> None:
        self.cuff.link_began()

    def on_link_ended(self) -> None:
        self.memory.keep()

    async def _notify(self, characteristic: Characteristic, value: bytes) -> None:
        if self.connection is not None:
            await self.device.notify_subscriber(self.connection, characteristic, value)

    async def serve(self, request: dict) -> dict:
        match request:
            case {"do": "measure"}:
                self.cuff.measure(datetime.now(), **{key: request[key] for key in ("ago", "user") if key in request})
                self.memory.keep()
                return {"ok": True}
            case {"query": "books"}:
                return {**self.state(), **self.cuff.books()}
            case _:
                return await super().serve(request)
