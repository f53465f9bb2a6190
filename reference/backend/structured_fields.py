"""Structured field values for HTTP (RFC 8941): items, lists and dictionaries.

Parsing is strict, as the RFC demands: one wrong character fails the whole field, and the error names its position.

A value becomes ``int``, ``decimal.Decimal``, ``str``, ``Token``, ``bytes`` or ``bool``.
"""

from __future__ import annotations

import base64
import binascii
import decimal
import re
from dataclasses import dataclass, field
from typing import Union

Bare = Union[int, decimal.Decimal, str, "Token", bytes, bool]


class FieldError(ValueError):
    """A field that is not a structured field value; ``position`` counts characters from 0."""

    def __init__(self, position: int, problem: str):
        super().__init__(f"{problem} at character {position}")
        self.position = position
        self.problem = problem


class Token(str):
    """A bare word (RFC 8941 section 3.3.4); differs from the quoted string of the same letters."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Token) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


@dataclass(frozen=True)
class Item:
    """A bare value and its parameters (section 3.3)."""

    value: Bare
    parameters: dict[str, Bare] = field(default_factory=dict)


@dataclass(frozen=True)
class InnerList:
    """A parenthesised list of items with parameters of its own (section 3.1.1)."""

    items: tuple[Item, ...]
    parameters: dict[str, Bare] = field(default_factory=dict)


def parse_item(text: str) -> Item:
    """The field as one item (section 4.2.3)."""
    reader = _Reader(text)
    reader.spaces()
    item = reader.item()
    reader.end()
    return item


def parse_list(text: str) -> list[Item | InnerList]:
    """The field as a list (section 4.2.1); an empty field is an empty list."""
    reader = _Reader(text)
    reader.spaces()
    members: list[Item | InnerList] = []
    while not reader.at_end():
        members.append(reader.member())
        if not reader.comma():
            break
    reader.end()
    return members


def parse_dictionary(text: str) -> dict[str, Item | InnerList]:
    """The field as a dictionary (section 4.2.2); of a repeated key the last value counts."""
    reader = _Reader(text)
    reader.spaces()
    members: dict[str, Item | InnerList] = {}
    while not reader.at_end():
        key = reader.key()
        members.pop(key, None)
        if reader.take("="):
            members[key] = reader.member()
        else:
            members[key] = Item(True, reader.parameters())
        if not reader.comma():
            break
    reader.end()
    return members


_KEY = re.compile(r"[a-z*][a-z0-9_\-.*]*")
_TOKEN = re.compile(r"[A-Za-z*][!#$%&'*+\-.^_`|~0-9A-Za-z:/]*")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]*)?")
_BASE64 = re.compile(r"[A-Za-z0-9+/=]*")


class _Reader:
    """A cursor over the text; each method consumes what it is named after."""

    def __init__(self, text: str):
        self.text = text
        self.position = 0

    def at_end(self) -> bool:
        return self.position >= len(self.text)

    def peek(self) -> str:
        return self.text[self.position] if not self.at_end() else ""

    def fail(self, problem: str) -> FieldError:
        return FieldError(self.position, problem)

    def take(self, character: str) -> bool:
        if self.peek() != character:
            return False
        self.position += 1
        return True

    def spaces(self, also_tabs: bool = False) -> None:
        while self.peek() == " " or (also_tabs and self.peek() == "\t"):
            self.position += 1

    def end(self) -> None:
        self.spaces()
        if not self.at_end():
            raise self.fail(f"unexpected {self.peek()!r}")

    def comma(self) -> bool:
        """A separating comma; a trailing one is an error. False at the end of the field."""
        self.spaces(also_tabs=True)
        if self.at_end():
            return False
        if not self.take(","):
            raise self.fail(f"expected a comma, found {self.peek()!r}")
        self.spaces(also_tabs=True)
        if self.at_end():
            raise self.fail("a comma with nothing after it")
        return True

    def match(self, pattern: re.Pattern[str], what: str) -> str:
        found = pattern.match(self.text, self.position)
        if found is None:
            raise self.fail(f"expected {what}, found {self.peek()!r}" if self.peek() else f"expected {what}, found the end")
        self.position = found.end()
        return found.group()

    def key(self) -> str:
        return self.match(_KEY, "a key")

    def member(self) -> Item | InnerList:
        return self.inner_list() if self.peek() == "(" else self.item()

    def inner_list(self) -> InnerList:
        self.take("(")
        items: list[Item] = []
        while True:
            self.spaces()
            if self.take(")"):
                return InnerList(tuple(items), self.parameters())
            items.append(self.item())
            if self.peek() not in (" ", ")"):
                raise self.fail("an inner list is not closed" if self.at_end() else f"unexpected {self.peek()!r}")

    def item(self) -> Item:
        value = self.bare()
        return Item(value, self.parameters())

    def parameters(self) -> dict[str, Bare]:
        found: dict[str, Bare] = {}
        while self.take(";"):
            self.spaces()
            key = self.key()
            found.pop(key, None)
            found[key] = self.bare() if self.take("=") else True
        return found

    def bare(self) -> Bare:
        first = self.peek()
        if first == '"':
            return self.string()
        if first == ":":
            return self.byte_sequence()
        if first == "?":
            return self.boolean()
        if first == "-" or ("0" <= first <= "9"):
            return self.number()
        return Token(self.match(_TOKEN, "a value"))

    def number(self) -> int | decimal.Decimal:
        start = self.position
        text = self.match(_NUMBER, "a number")
        whole, point, fraction = text.lstrip("-").partition(".")
        if not point:
            if len(whole) > 15:
                raise FieldError(start, "an integer of more than 15 digits")
            return int(text)
        if len(whole) > 12 or not 1 <= len(fraction) <= 3:
            raise FieldError(start, "a decimal needs at most 12 digits, a point and 1 to 3 digits")
        return decimal.Decimal(text)

    def string(self) -> str:
        start = self.position
        self.take('"')
        characters: list[str] = []
        while not self.at_end():
            character = self.peek()
            self.position += 1
            if character == '"':
                return "".join(characters)
            if character == "\\":
                character = self.peek()
                if character not in ('"', "\\") or character == "":
                    raise self.fail("only \\\" and \\\\ may be escaped")
                self.position += 1
            elif not " " <= character <= "~":
                raise FieldError(self.position - 1, "a string holds printable ASCII only")
            characters.append(character)
        raise FieldError(start, "a string is not closed")

    def byte_sequence(self) -> bytes:
        start = self.position
        self.take(":")
        encoded = self.match(_BASE64, "base64")
        if not self.take(":"):
            raise self.fail("a byte sequence is not closed")
        try:
            return base64.b64decode(encoded, validate=True)
        except binascii.Error as error:
            raise FieldError(start, f"not base64 ({error})") from None

    def boolean(self) -> bool:
        self.take("?")
        if self.take("1"):
            return True
        if self.take("0"):
            return False
        raise self.fail("a boolean is ?0 or ?1")
