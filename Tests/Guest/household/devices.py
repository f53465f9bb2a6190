"""Devices as the daemon's configuration has them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Collar:
    """`more` are further lines of its table."""

    serial: str
    owner: str = "anna"
    address: str | None = None
    more: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.serial.lower()

    @property
    def owners(self) -> set[str]:
        return {self.owner}

    def table(self) -> str:
        return "\n".join(["[[collar]]", *_common(self), f'owner = "{self.owner}"', *self.more])


@dataclass(frozen=True)
class Cuff:
    """A blood-pressure cuff of one owner, or of the owners of its `users`; `more` are further lines of its table."""

    serial: str
    owner: str | None = "anna"
    address: str | None = None
    users: dict[int, str] = field(default_factory=dict)
    more: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.serial.lower()

    @property
    def owners(self) -> set[str]:
        return set(self.users.values()) or {self.owner}

    def owner_of(self, user: int | None) -> str | None:
        """Whose a reading of this user is; nobody's when nobody says."""
        return self.users.get(user) if self.users else self.owner

    def table(self) -> str:
        owner = [] if self.users else [f'owner = "{self.owner}"']
        users = [f'[[cuff.user]]\nuser = {user}\nowner = "{owner}"' for user, owner in self.users.items()]
        return "\n".join(["[[cuff]]", *_common(self), *owner, *self.more, *users])


def _common(device: Collar | Cuff) -> list[str]:
    address = [] if device.address is None else [f'address = "{device.address}"']
    return [f'name = "{device.name}"', f'serial = "{device.serial}"', *address]
