"""Documents as data classes: JSON of the wire, whose members are in camel case, read and written by their annotations."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import re
import types
import typing
from collections.abc import Iterator
from datetime import datetime
from enum import Enum, StrEnum
from typing import Any, TypeVar, cast

from .errors import UnexpectedResponse

Value = TypeVar("Value")


class MalformedDocument(ValueError):
    """A document that is not of its type; the text names the member."""


class UnknownWord(MalformedDocument):
    """A word that is none of its list, and may be one of a later agent."""


class ListedWord(StrEnum):
    """A word of a closed list that names the one which stands in the place of a later agent's."""

    @classmethod
    def fallback(cls) -> ListedWord:
        """That word. A document that is read has it; ``cls("typo")`` raises ``ValueError``."""
        raise NotImplementedError


def wire_name(name: str) -> str:
    """The member's name on the wire: ``bytes_total`` is ``bytesTotal``."""
    return re.sub(r"_([a-z])", lambda match: match.group(1).upper(), name)


@functools.cache
def _members(kind: Any) -> tuple[tuple[str, str, Any, bool], ...]:
    """Of each member: its name, that on the wire, its type, and whether it is always there."""
    hints = typing.get_type_hints(kind)
    return tuple(
        (field.name, field.metadata.get("wire") or wire_name(field.name), hints[field.name], field.default is dataclasses.MISSING)
        for field in dataclasses.fields(kind) if field.init)


def decode(kind: type[Value], value: object, place: str = "") -> Value:
    """The value of this type. Members that the type does not have are ignored.

    A word that only a later agent has does not make a document unreadable. In its place stands the one that its list names for that
    (``ListedWord.fallback``). Without one the member is None; where it has to be there, the object around it is left out of its list, or is
    None in turn.
    Raises ``MalformedDocument``, and ``UnknownWord`` where nothing is left.
    """
    return cast(Value, _decode(kind, value, place))


def _decode(kind: Any, value: object, place: str) -> object:
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        (kind,) = (option for option in typing.get_args(kind) if option is not type(None))
        try:
            return None if value is None else _decode(kind, value, place)
        except UnknownWord:
            return None
    if origin is tuple:
        if not isinstance(value, list):
            raise _wrong(place, "a list", value)
        return tuple(_known(typing.get_args(kind)[0], value, place))
    if origin is dict:
        if not isinstance(value, dict):
            raise _wrong(place, "an object", value)
        element = typing.get_args(kind)[1]
        return {key: _decode(element, part, f"{place}.{key}") for key, part in value.items()}
    if dataclasses.is_dataclass(kind):
        return _decode_object(kind, value, place)
    return _decode_scalar(kind, value, place)


def _known(kind: Any, values: list[object], place: str) -> Iterator[object]:
    """The elements, without those that cannot be there without a word of a later agent."""
    for index, value in enumerate(values):
        with contextlib.suppress(UnknownWord):
            yield _decode(kind, value, f"{place}[{index}]")


def _decode_object(kind: Any, value: object, place: str) -> object:
    if not isinstance(value, dict):
        raise _wrong(place, "an object", value)
    found = {}
    for name, wire, hint, is_required in _members(kind):
        where = f"{place}.{wire}" if place else wire
        if wire in value:
            found[name] = _decode(hint, value[wire], where)
        elif is_required:
            raise MalformedDocument(f"{where}: is missing")
    return kind(**found)


def _decode_scalar(kind: Any, value: object, place: str) -> object:
    if kind is bool and isinstance(value, bool) or kind is str and isinstance(value, str):
        return value
    if kind is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise _wrong(place, "a number", value) from None
    if kind is datetime and isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            raise _wrong(place, "a date", value) from None
        if moment.tzinfo is not None:
            return moment
    elif isinstance(kind, type) and issubclass(kind, Enum) and isinstance(value, str):
        try:
            return kind(value)
        except ValueError:
            if issubclass(kind, ListedWord):
                return kind.fallback()
            raise UnknownWord(str(_wrong(place, f"one of {', '.join(word.value for word in kind)}", value))) from None
    raise _wrong(place, {bool: "true or false", str: "a text", int: "a whole number", float: "a number"}.get(kind, "a date"), value)


def _wrong(place: str, expected: str, value: object) -> MalformedDocument:
    found = json.dumps(value, default=str)
    return MalformedDocument(f"{place or 'the document'}: {found[:100]} is not {expected}")


def read(kind: type[Value], body: bytes, status: int | None = None) -> Value:
    """The document of an answer. Raises ``UnexpectedResponse``."""
    try:
        return decode(kind, json.loads(body, parse_constant=_refuse_constant))
    except (ValueError, RecursionError) as error:
        raise UnexpectedResponse(str(error) or type(error).__name__, status=status) from None


def read_known(kind: type[Value], body: bytes) -> Value | None:
    """The same; None for a document that cannot be there without a word of a later agent."""
    try:
        return decode(kind, json.loads(body, parse_constant=_refuse_constant))
    except UnknownWord:
        return None
    except (ValueError, RecursionError) as error:
        raise UnexpectedResponse(str(error) or type(error).__name__) from None


def _refuse_constant(word: str) -> object:
    raise MalformedDocument(f"{word} is no number of JSON")


def write(members: dict[str, object]) -> bytes:
    """A request's body, without the members that are None. Names are those of Python."""
    return json.dumps(
        {wire_name(name): value for name, value in members.items() if value is not None}, ensure_ascii=False).encode()
