"""What every simulated peripheral has in common: a Bumble device on the air, that advertises, is linked, and advertises again."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable

from bumble import hci
from bumble.core import AdvertisingData
from bumble.device import Connection, Device, DeviceConfiguration
from bumble.gatt import Attribute, Characteristic, Descriptor
from bumble.gatt import GATT_CLIENT_CHARACTERISTIC_CONFIGURATION_DESCRIPTOR
from bumble.host import Host
from bumble.keys import JsonKeyStore, MemoryKeyStore
from bumble.pairing import PairingConfig, PairingDelegate
from bumble.transport.common import AsyncPipeSink

from virtual_radio import Air, PeerController

Event = Callable[[dict], None]
IO = PairingDelegate.IoCapability
IO_CAPABILITIES = {"none": IO.NO_OUTPUT_NO_INPUT, "display": IO.DISPLAY_OUTPUT_ONLY, "keyboard": IO.KEYBOARD_INPUT_ONLY}
FLAGS = (AdvertisingData.FLAGS, b"\x06")  # LE general discoverable, no BR/EDR


def now() -> float:
    """Seconds of the boot clock, by which everything in the books is dated."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Delegate(PairingDelegate):
    """Pairs with whoever asks. A peer with a display shows its passkey as an event; one with a keyboard types the one it was given."""

    def __init__(self, peer: Peer, io: str, passkey: int | None) -> None:
        super().__init__(IO_CAPABILITIES[io])
        self.peer = peer
        self.passkey = passkey

    async def generate_passkey(self) -> int:
        # Zero is a passkey that Bumble takes for none.
        return self.passkey if self.passkey is not None else 1 + secrets.randbelow(999_999)

    async def display_number(self, number: int, digits: int) -> None:
        self.peer.tell("passkey", passkey=f"{number:0{digits}}")

    async def get_number(self) -> int | None:
        return self.passkey


class Peer:
    """One peripheral. Subclasses add services to `self.device` and say what is advertised."""

    def __init__(
        self,
        air: Air,
        name: str,
        address: str,
        emit: Event,
        *,
        mtu: int = 517,
        advertise_ms: int = 1000,
        bondable: bool = True,
        io: str = "none",
        passkey: int | None = None,
        privacy: bool = False,
        absent: bool = False,
        keys: str = "",
        calls_itself: str = "",
    ) -> None:
        self.air = air
        self.name = name
        self._emit = emit
        self.advertise_ms = advertise_ms
        self.absent = absent
        self._advertising = asyncio.Lock()  # starting and stopping take several commands each
        self.connection: Connection | None = None
        self.links = 0
        self.pairings = 0
        self.subscriptions: dict[int, int] = {}  # by the characteristic's handle: 1 notifications, 2 indications
        self.subscribed_again = 0  # writes that asked, on one link, for what was in force
        self.controller = PeerController(name, link=air, public_address=None)
        self.device = Device(
            host=Host(self.controller, AsyncPipeSink(self.controller)),
            config=DeviceConfiguration(
                name=calls_itself or name,
                address=hci.Address(address),
                irk=secrets.token_bytes(16),
                le_privacy_enabled=privacy,
                le_rpa_timeout=0,  # a new address comes when it is asked for
            ),
        )
        self.device.keystore = JsonKeyStore(name, keys) if keys else MemoryKeyStore()
        self.device.gatt_server.max_mtu = mtu
        delegate = Delegate(self, io, passkey)
        self.device.pairing_config_factory = lambda _connection: PairingConfig(
            sc=True,
            mitm=io != "none",
            bonding=bondable,
            delegate=delegate,
            identity_address_type=PairingConfig.AddressType.RANDOM,
        )
        self.device.on("connection", self._linked)
        self.device.gatt_server.on("characteristic_subscription", self._subscribed)

    def tell(self, event: str, **members) -> None:
        self._emit({"event": event, "device": self.name, "at_boottime_ns": int(now() * 1e9), **members})

    @property
    def address(self) -> str:
        return str(self.device.random_address).removesuffix("/P")

    # What subclasses say

    def advertisement(self) -> tuple[bytes, bytes]:
        """Advertising data and scan response."""
        raise NotImplementedError

    def on_link(self, connection: Connection) -> None:
        """There is a link."""

    def on_link_ended(self) -> None:
        """There is none any more."""

    def on_subscription(self, characteristic: Characteristic, value: int) -> None:
        """A Client Characteristic Configuration was written."""

    # Advertising and links

    async def start(self) -> None:
        await self.device.power_on()
        await self.advertise()

    async def advertise(self) -> None:
        """Begins to advertise, or goes on with what is to be advertised now; not while there is a link."""
        async with self._advertising:
            if self.absent or self.connection is not None:
                return
            await self._fall_silent()
            if self.connection is not None:
                return
            data, scan_response = self.advertisement()
            await self.device.start_advertising(
                advertising_data=data,
                scan_response_data=scan_response,
                advertising_interval_min=self.advertise_ms,
                advertising_interval_max=self.advertise_ms,
            )

    async def _fall_silent(self) -> None:
        await self.device.stop_advertising()
        if self.connection is None:
            # Bumble's host forgets a link that comes while it stops advertising; the controllers do not.
            self.cut(0x3E)

    def _linked(self, connection: Connection) -> None:
        self.connection = connection
        self.links += 1
        connection.on("disconnection", self._ended)
        connection.on("pairing", lambda _keys: self._paired())
        connection.on("pairing_failure", lambda reason: self.tell("pairing-failed", reason=int(reason)))
        self.tell("linked")
        self.on_link(connection)

    def _paired(self) -> None:
        self.pairings += 1
        self.tell("bonded")

    def _ended(self, reason: int) -> None:
        self.connection = None
        self.subscriptions.clear()
        self.tell("link-ended", reason=int(reason))
        self.on_link_ended()
        asyncio.get_running_loop().create_task(self.advertise())

    def _subscribed(self, bearer, characteristic: Characteristic, notify: bool, indicate: bool) -> None:
        if self.connection is None:
            return  # Bumble's server works in tasks: this write's link has ended meanwhile
        value = (1 if notify else 0) | (2 if indicate else 0)
        if value and self.subscriptions.get(characteristic.handle) == value:
            self.subscribed_again += 1
        self.subscriptions[characteristic.handle] = value
        self.on_subscription(characteristic, value)

    def secured_configuration(self, characteristic: Characteristic) -> Characteristic:
        """Gives the characteristic a configuration that only an encrypted link can write."""
        configuration = Descriptor(
            GATT_CLIENT_CHARACTERISTIC_CONFIGURATION_DESCRIPTOR,
            Attribute.READABLE | Attribute.WRITEABLE | Attribute.WRITE_REQUIRES_ENCRYPTION,
            self.device.gatt_server.make_descriptor_value(characteristic),
        )
        characteristic.descriptors = (*characteristic.descriptors, configuration)
        return characteristic

    # What tests do

    async def drop(self, reason: int = 0x13) -> None:
        """The peripheral ends the link."""
        if self.connection is not None:
            await self.device.disconnect(self.connection, reason)

    def cut(self, reason: int) -> None:
        """Both controllers end the link, neither host asked for it."""
        for connection in list(self.controller.le_connections.values()):
            self.air.cut(connection, reason)

    async def set_absent(self, absent: bool) -> None:
        self.absent = absent
        if absent:
            async with self._advertising:
                await self._fall_silent()
            self.cut(0x08)
        else:
            await self.advertise()

    async def set_address(self, address: str | None) -> None:
        """Drops the link and is at another static random address from then on, or (None) at another resolvable private one."""
        new = hci.Address(address) if address is not None else hci.Address.generate_private_address(self.device.irk)
        async with self._advertising:
            await self._fall_silent()
            self.cut(0x08)
            self.device.random_address = new
            if address is not None:
                self.device.static_address = new
            await self.device.host.send_sync_command(hci.HCI_LE_Set_Random_Address_Command(random_address=new))
        await self.advertise()

    async def forget_bonds(self) -> None:
        for name, _ in await self.device.keystore.get_all():
            await self.device.keystore.delete(name)

    async def spoil_bonds(self) -> None:
        """The peripheral has other keys than those it gave."""
        for name, keys in await self.device.keystore.get_all():
            for key in (keys.ltk, keys.ltk_central, keys.ltk_peripheral):
                if key is not None:
                    key.value = bytes(each ^ 0xFF for each in key.value)
            await self.device.keystore.update(name, keys)

    async def serve(self, request: dict) -> dict:
        """What any peripheral can be asked over the control socket; see virtual_controller.py."""
        match request:
            case {"do": "drop-link"}:
                await self.drop(int(request.get("reason", 0x13)))
            case {"do": "cut-link"}:
                self.cut(int(request.get("reason", 0x08)))
            case {"do": "fade"}:
                seconds = request.get("seconds")
                return {"seconds": self.air.fade(self.controller, None if seconds is None else float(seconds))}
            case {"do": "absent"}:
                await self.set_absent(True)
            case {"do": "present"}:
                await self.set_absent(False)
            case {"do": "change-address", "address": address}:
                await self.set_address(address)
            case {"do": "new-private-address"}:
                await self.set_address(None)
            case {"do": "forget-bonds"}:
                await self.forget_bonds()
            case {"do": "spoil-bonds"}:
                await self.spoil_bonds()
            case {"query": "state"}:
                return self.state()
            case _:
                raise ValueError(f"control-invalid: {self.name} cannot do {request}")
        return {"ok": True}

    def state(self) -> dict:
        return {
            "device": self.name,
            "address": self.address,
            "linked": self.connection is not None,
            "advertising": self.controller.le_legacy_advertiser.enabled,
            "links": self.links,
            "pairings": self.pairings,
            "subscribed_again": self.subscribed_again,
            "encrypted": self.connection is not None and bool(self.connection.encryption),
            "mtu": self.connection.att_mtu if self.connection is not None else None,
        }
