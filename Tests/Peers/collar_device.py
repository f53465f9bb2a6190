"""The collar of collar.py on the air: its advertisement, its services, its heartbeat, and reads as fast as the link takes them."""

from __future__ import annotations

import asyncio
import time

from bumble import att
from bumble.core import UUID, AdvertisingData
from bumble.device import Connection
from bumble.gatt import Attribute, Characteristic, CharacteristicValue, Service

import collar as profile
from peer import FLAGS, Event, Peer, now
from virtual_radio import Air

TAIL = "2c4b-4d1e-9f3a-8a5b7c9d1e20"
SERVICE, BETA_METRICS, RAW_WINDOWS, CONTROL_POINT = (UUID(f"6f1e000{number}-{TAIL}") for number in (1, 2, 3, 4))
NOT_SUBSCRIBED = 0xFD  # Client Characteristic Configuration Descriptor improperly configured
BURST = 32  # windows between two looks at what else there is to do
PACE = 0.005  # seconds that a paced read is ahead of its time at most


class CollarDevice(Peer):
    """
    backlog             windows held at the start, recorded one a second
    interval_ms         between new windows; 0: none by themselves
    heartbeat_ms        between heartbeats
    secure              whether Raw Windows and Control Point need an encrypted link
    identity_in         "scan-response" (the service UUID is in the advertisement) or "advertisement" (the other way round)
    clock_set           whether the clock is set from the start
    poses_as            the serial number whose identity it advertises, instead of its own
    rate                windows a second while a read runs; 0: as fast as the processor lets it, some ten times what LE carries at best
    """

    def __init__(
        self,
        air: Air,
        serial: str,
        address: str,
        emit: Event,
        *,
        backlog: int = 0,
        interval_ms: int = 0,
        heartbeat_ms: int = 5000,
        secure: bool = True,
        identity_in: str = "scan-response",
        clock_set: bool = False,
        poses_as: str = "",
        rate: int = 0,
        seed: int = 0,
        capacity: int = 100_000,
        first: int = 0,
        **peer,
    ) -> None:
        super().__init__(air, serial, address, emit, bondable=secure, **peer)
        self.collar = profile.Collar(serial, now(), seed=seed, capacity=capacity, first=first)
        if clock_set:
            self.collar.clock.set(now(), int(time.time()))
        self.collar.backlog(backlog, now())
        self.identity = profile.identity(poses_as or serial)
        self.identity_in = identity_in
        self.interval = interval_ms / 1000
        self.heartbeat = heartbeat_ms / 1000
        self.secure = secure
        self.rate = rate
        self.silent = False
        self.mute = 0  # so many answers of the Control Point still do not come
        self.heartbeats = 0
        self.transfers: list[dict] = []  # reads that ran: what they sent, and when
        self._link_tasks: set[asyncio.Task] = set()
        self._heart: asyncio.Task | None = None
        self._production: asyncio.Task | None = None
        self._answers: asyncio.Queue[bytes] = asyncio.Queue()
        self._add_services()

    async def start(self) -> None:
        await super().start()
        if self.interval > 0:
            self._production = asyncio.get_running_loop().create_task(self._produce())

    # The advertisement: both do not fit into the 31 octets of either part

    def advertisement(self) -> tuple[bytes, bytes]:
        service = AdvertisingData([FLAGS, (AdvertisingData.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS, bytes(SERVICE))])
        data = (AdvertisingData.SERVICE_DATA_128_BIT_UUID, bytes(SERVICE) + self.identity)
        if self.identity_in == "scan-response":
            return bytes(service), bytes(AdvertisingData([data]))
        return bytes(AdvertisingData([FLAGS, data])), bytes(AdvertisingData(service.ad_structures[1:]))

    # Services

    def _add_services(self) -> None:
        properties = Characteristic.Properties
        encrypted = Attribute.WRITE_REQUIRES_ENCRYPTION if self.secure else Attribute.Permissions(0)
        self.metrics = Characteristic(
            BETA_METRICS,
            properties.READ | properties.NOTIFY,
            Characteristic.READABLE,
            CharacteristicValue(read=lambda _connection: self.collar.metrics(now())),
        )
        self.windows = Characteristic(RAW_WINDOWS, properties.NOTIFY, Attribute.Permissions(0), b"")
        self.control = Characteristic(
            CONTROL_POINT,
            properties.WRITE | properties.INDICATE,
            Characteristic.WRITEABLE | encrypted,
            CharacteristicValue(write=self._written),
        )
        if self.secure:
            self.secured_configuration(self.windows)
            self.secured_configuration(self.control)

        def constant(uuid: int, value: bytes) -> Characteristic:
            return Characteristic(UUID.from_16_bits(uuid), properties.READ, Characteristic.READABLE, value)

        self.battery = Characteristic(
            UUID.from_16_bits(0x2A19),
            properties.READ | properties.NOTIFY,
            Characteristic.READABLE,
            CharacteristicValue(read=lambda _connection: bytes([min(self.collar.battery, 100)])),
        )
        self.device.add_services(
            [
                Service(
                    UUID.from_16_bits(0x180A),
                    [constant(0x2A25, self.collar.serial.encode()), constant(0x2A26, self.collar.firmware.encode())],
                ),
                Service(UUID.from_16_bits(0x180F), [self.battery]),
                Service(SERVICE, [self.metrics, self.windows, self.control]),
            ]
        )

    # The link

    def _during_link(self, work) -> asyncio.Task:
        task = asyncio.get_running_loop().create_task(work)
        self._link_tasks.add(task)
        task.add_done_callback(self._link_tasks.discard)
        return task

    def on_link(self, connection: Connection) -> None:
        self.silent = False
        self._answers = asyncio.Queue()
        self._during_link(self._answer(connection, self._answers))

    def on_link_ended(self) -> None:
        for task in list(self._link_tasks):
            task.cancel()
        self._heart = None
        self.collar.link_ended()

    def on_subscription(self, characteristic: Characteristic, value: int) -> None:
        if characteristic is not self.metrics:
            return
        if self._heart is not None:
            self._heart.cancel()
            self._heart = None
        if value & 1:
            self._heart = self._during_link(self._beat(self.connection))

    async def _beat(self, connection: Connection) -> None:
        while True:
            await asyncio.sleep(self.heartbeat)
            if not self.silent:
                self.heartbeats += 1
                await self.device.notify_subscriber(connection, self.metrics, self.collar.metrics(now()))

    async def _produce(self) -> None:
        due = now()
        while True:
            due += self.interval
            await asyncio.sleep(max(0, due - now()))
            self.collar.produce(now())

    # The Control Point

    def _written(self, connection: Connection, value: bytes) -> None:
        subscribed = self.subscriptions
        if not (subscribed.get(self.windows.handle, 0) & 1 and subscribed.get(self.control.handle, 0) & 2):
            raise att.ATT_Error(error_code=NOT_SUBSCRIBED)
        if not value:
            raise att.ATT_Error(error_code=att.ATT_INVALID_ATTRIBUTE_LENGTH_ERROR)
        had_read = self.collar.read
        for answer in self.collar.request(bytes(value), now(), connection.att_mtu):
            self._answers.put_nowait(answer)
        if self.collar.read is not None and self.collar.read is not had_read:
            self._during_link(self._send(connection, self.collar.read))

    async def _answer(self, connection: Connection, answers: asyncio.Queue[bytes]) -> None:
        """One indication at a time, each after the write that it answers was."""
        while True:
            value = await answers.get()
            if self.mute > 0:
                self.mute -= 1
                continue
            await asyncio.sleep(0)
            try:
                await self.device.indicate_subscriber(connection, self.control, value)
            except asyncio.TimeoutError:
                self.tell("not-confirmed")

    async def _send(self, connection: Connection, read: profile.Read) -> None:
        """The windows of a running read, and its answer."""
        queue = self.device.host.get_data_packet_queue(connection.handle)
        handle = self.windows.handle.to_bytes(2, "little")
        mtu = connection.att_mtu
        sent = 0
        begun = now()
        transfer = {"first": self.collar.log.sequence(read.position), "count": read.end - read.position, "begun": begun, "sent": 0, "ended": begun}
        self.transfers.append(transfer)
        while self.collar.read is read:
            window, answer = self.collar.next_of_read()
            if answer is not None:
                self._answers.put_nowait(answer)
                return
            for value in profile.fragments(window, mtu):
                self.device.send_l2cap_pdu(
                    connection.handle, att.ATT_CID, bytes([att.Opcode.ATT_HANDLE_VALUE_NOTIFICATION]) + handle + value
                )
            sent += 1
            transfer["sent"], transfer["ended"] = sent, now()
            if sent % BURST == 0:
                await queue.drain(connection.handle)
            if self.rate and (ahead := begun + sent / self.rate - now()) > PACE:
                await asyncio.sleep(ahead)

    # What tests do

    async def serve(self, request: dict) -> dict:
        collar = self.collar
        match request:
            case {"query": "books"}:
                return {**collar.account(now()), **self.state(), "heartbeats": self.heartbeats}
            case {"query": "transfers"}:
                return {"transfers": self.transfers}
            case {"query": "windows", "log": int(log), "from": int(first), "count": int(count)}:
                return {"windows": collar.digests(log, first, count)}
            case {"do": "produce", "count": int(count)}:
                collar.produce(now(), count)
            case {"do": "stop-producing"}:
                if self._production is not None:
                    self._production.cancel()
                    self._production = None
            case {"do": "silence"}:
                self.silent = True
            case {"do": "mute", "count": int(count)}:
                self.mute = count
            case {"do": "busy", "count": int(count)}:
                collar.refusals = count
            case {"do": "format"}:
                collar.format()
            case {"do": "flash-error", "sequence": int(sequence), "times": int(times)}:
                collar.flash_errors[collar.log.position(sequence)] = times
            case {"do": "disturb", "sequence": int(sequence), "times": int(times)}:
                collar.disturbed[collar.log.position(sequence)] = times
            case {"do": "rate", "windows-per-second": int(rate)}:
                self.rate = rate
            case {"do": "battery", "percent": int(percent)}:
                collar.battery = percent
            case {"do": "battery-change", "address": str(address)}:
                collar.clock.unset(now())
                await self.set_address(address)
            case {"do": "identity", "hex": str(digits)}:
                self.identity = bytes.fromhex(digits)
                await self.advertise()
            case _:
                return await super().serve(request)
        return {"ok": True}
