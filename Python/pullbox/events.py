"""The agent's events: server-sent events, by the rules of the WHATWG HTML standard, §9.2.6."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from . import coding
from .connection import Exchange
from .documents import AgentTransaction, DownloadStatus, FeedEntry, LibraryEvent, LibraryItem
from .errors import UnexpectedResponse, Unreachable

MAXIMUM_EVENT_LENGTH = 1024 * 1024
"""Bytes of a line, and of an event's data."""
SILENCE_LIMIT = 60.0
"""Seconds without a byte after which the agent is taken for gone: it sends a comment every 15."""

@dataclass(frozen=True, slots=True)
class EventReset:
    """What the reader knows counts no more: what follows begins anew."""


EventValue = AgentTransaction | DownloadStatus | LibraryEvent | LibraryItem | FeedEntry | EventReset

_TYPES: dict[str, type[EventValue]] = {
    "transaction": AgentTransaction, "download": DownloadStatus, "library": LibraryEvent, "issue-ready": LibraryItem,
    "correction-ready": LibraryItem, "owned": FeedEntry, "reset": EventReset,
}


@dataclass(frozen=True, slots=True)
class AgentEvent:
    """A change. ``name`` is ``transaction``, ``download``, ``library``, ``issue-ready``, ``correction-ready``, ``owned`` or ``reset``."""

    name: str
    value: EventValue

    @property
    def transactions(self) -> tuple[AgentTransaction, ...]:
        """The transaction that the event tells of."""
        return (self.value,) if isinstance(self.value, AgentTransaction) else ()

    @property
    def downloads(self) -> tuple[DownloadStatus, ...]:
        """The download that the event tells of."""
        return (self.value,) if isinstance(self.value, DownloadStatus) else ()


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """An event of any stream; ``name`` is ``message`` when the stream named none."""

    name: str
    data: bytes
    identifier: str | None = None


class ServerSentEventParser:
    """Reads a stream in the parts in which it comes. An event is complete with the empty line after it."""

    def __init__(self, maximum_length: int = MAXIMUM_EVENT_LENGTH) -> None:
        self._maximum = maximum_length
        self._line = bytearray()
        self._data: list[bytes] = []
        self._data_length = 0
        self._name = b""
        self._identifier: str | None = None
        self.last_identifier: str | None = None
        self._is_first_line = True
        self._after_carriage_return = False

    def read(self, part: bytes) -> Iterator[ServerSentEvent]:
        """The events that these bytes complete. Raises ``UnexpectedResponse`` for what is too long."""
        if self._after_carriage_return and part:
            self._after_carriage_return = False
            part = part.removeprefix(b"\n")
        start = 0
        while start < len(part):
            end, skipped = self._line_end(part, start)
            self._line += part[start:end]
            if len(self._line) > self._maximum:
                raise UnexpectedResponse(f"a line of the event stream has more than {self._maximum} bytes")
            if not skipped:
                return
            line = bytes(self._line)
            self._line.clear()
            if (event := self._take(line)) is not None:
                yield event
            start = end + skipped

    def _line_end(self, part: bytes, start: int) -> tuple[int, int]:
        """Where the line ends, and how many bytes its end has; none where it goes on in the next part."""
        feed = part.find(b"\n", start)
        limit = len(part) if feed < 0 else feed
        carriage = part.find(b"\r", start, limit)
        if carriage < 0:
            return (limit, 0 if feed < 0 else 1)
        if carriage + 1 == len(part):
            self._after_carriage_return = True
            return (carriage, 1)
        return (carriage, 2 if part[carriage + 1] == 0x0A else 1)

    def _take(self, line: bytes) -> ServerSentEvent | None:
        if self._is_first_line:
            self._is_first_line = False
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            # An identifier counts from the empty line on: what is cut before it is told again.
            self.last_identifier = self._identifier
            name = self._name.decode(errors="replace") or "message"
            event = ServerSentEvent(name, b"\n".join(self._data), self.last_identifier) if self._data else None
            self._data, self._data_length, self._name = [], 0, b""
            return event
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"event":
            self._name = value
        elif field == b"data":
            self._data_length += len(value) + 1
            if self._data_length > self._maximum:
                raise UnexpectedResponse(f"an event of the stream has more than {self._maximum} bytes of data")
            self._data.append(value)
        elif field == b"id" and b"\0" not in value:
            self._identifier = value.decode(errors="replace")
        return None


class AgentEvents:
    """The events in their order, for one reader. Ends when the agent closes the stream, as it does when it stops."""

    def __init__(self, exchange: Exchange, silence_limit: float = SILENCE_LIMIT) -> None:
        self._exchange = exchange
        self._parts = exchange.parts()
        self._parser = ServerSentEventParser()
        self._events: deque[tuple[AgentEvent, str | None]] = deque()
        self._last_identifier: str | None = None
        self._silence_limit = silence_limit

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def last_identifier(self) -> str | None:
        """The identifier of the last change that was read, for ``AgentClient.events``; ``None`` before one."""
        return self._last_identifier

    def close(self) -> None:
        """Ends the connection."""
        self._exchange.close()

    def __aiter__(self) -> AsyncIterator[AgentEvent]:
        return self

    async def __anext__(self) -> AgentEvent:
        while not self._events:
            try:
                async with asyncio.timeout(self._silence_limit):
                    part = await anext(self._parts)
            except TimeoutError:
                self.close()
                raise Unreachable(f"the agent sent nothing for {self._silence_limit:g} seconds") from None
            except BaseException:
                self.close()
                raise
            self._take(part)
        event, identifier = self._events.popleft()
        self._last_identifier = identifier if self._events else self._parser.last_identifier
        return event

    def _take(self, part: bytes) -> None:
        try:
            for event in self._parser.read(part):
                # What only a later agent has is passed over.
                if event.name in _TYPES and (value := coding.read_known(_TYPES[event.name], event.data)) is not None:
                    self._events.append((AgentEvent(event.name, value), event.identifier))
        except UnexpectedResponse:
            self.close()
            raise
