"""The cuff of bp2.py as services of a Bumble attribute server: requests are written, answers notified in as many pieces as the link's MTU asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

from bumble.core import UUID
from bumble.gatt import Attribute, Characteristic, CharacteristicValue, Service

from bp2 import BP2

SERVICE, WRITE, NOTIFY = (
    UUID(text) for text in ("14839ac4-7d7e-415c-9a42-167340cf2339", "8b00ace7-eb0b-49b0-bbe9-9aee0a26e1a3", "0734594a-a8e7-4b1a-a6b1-cd5243059a57")
)
PROPERTIES = Characteristic.Properties


class BP2Services:
    def __init__(
        self, cuff: BP2, *, notify: Callable[[Characteristic, bytes], Awaitable[None]], room: Callable[[], int], now: Callable[[], datetime] = datetime.now
    ) -> None:
        self.cuff = cuff
        self._notify, self._room, self._now = notify, room, now
        self._answers: asyncio.Queue[bytes] = asyncio.Queue()
        self._answering: asyncio.Task | None = None
        self.answer = Characteristic(NOTIFY, PROPERTIES.NOTIFY, Attribute.Permissions(0), b"")
        write = Characteristic(
            WRITE, PROPERTIES.WRITE | PROPERTIES.WRITE_WITHOUT_RESPONSE, Characteristic.WRITEABLE, CharacteristicValue(write=self._written)
        )
        self.services = [Service(SERVICE, [write, self.answer])]

    def _written(self, _bearer, value: bytes) -> None:
        for answer in self.cuff.written(bytes(value), self._now()):
            self._answers.put_nowait(answer)
        if self._answering is None:
            self._answering = asyncio.get_running_loop().create_task(self._answer())

    async def _answer(self) -> None:
        while True:
            answer = await self._answers.get()
            for start in range(0, len(answer), self._room()):
                await self._notify(self.answer, answer[start : start + self._room()])
