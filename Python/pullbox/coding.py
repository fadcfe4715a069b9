"""Documents as data classes: JSON of the wire, whose members are in camel case, read and written by their annotations."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import types
import typing
from datetime import datetime
from enum import Enum
from typing import Any, TypeVar, cast

from .errors import UnexpectedResponse

Value = TypeVar("Value")


class MalformedDocument(ValueError):
    """A document that is not of its type; the text names the member."""


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
    """The value of this type. Members that the type does not have are ignored."""
    return cast(Value, _decode(kind, value, place))


def _decode(kind: Any, value: object, place: str) -> object:
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        (kind,) = (option for option in typing.get_args(kind) if option is not type(None))
        return None if value is None else _decode(kind, value, place)
    if origin is tuple:
        if not isinstance(value, list):
            raise _wrong(place, "a list", value)
        element = typing.get_args(kind)[0]
        return tuple(_decode(element, part, f"{place}[{index}]") for index, part in enumerate(value))
    if origin is dict:
        if not isinstance(value, dict):
            raise _wrong(place, "an object", value)
        element = typing.get_args(kind)[1]
        return {key: _decode(element, part, f"{place}.{key}") for key, part in value.items()}
    if dataclasses.is_dataclass(kind):
        return _decode_object(kind, value, place)
    return _decode_scalar(kind, value, place)


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
            raise _wrong(place, f"one of {', '.join(word.value for word in kind)}", value) from None
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


def _refuse_constant(word: str) -> object:
    raise MalformedDocument(f"{word} is no number of JSON")


def write(members: dict[str, object]) -> bytes:
    """A request's body, without the members that are None. Names are those of Python."""
    return json.dumps(
        {wire_name(name): value for name, value in members.items() if value is not None}, ensure_ascii=False).encode()
