"""Versions of the library that a program keeps open."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import TracebackType
from typing import Self

from . import coding
from .connection import Exchange
from .documents import LibraryItem
from .errors import UnexpectedResponse

LEASE_MEDIA_TYPE = "application/x-ndjson"
_MAXIMUM_LINE_LENGTH = 1024 * 1024


class LibraryLease:
    """Keeps ``item`` on this device, whatever comes after it, until it is closed or the agent ends."""

    def __init__(self, item: LibraryItem, exchange: Exchange, parts: AsyncIterator[bytes]) -> None:
        self.item = item
        self._exchange = exchange
        self._parts = parts

    @classmethod
    async def _read(cls, exchange: Exchange) -> Self:
        parts, line = exchange.parts(), bytearray()
        try:
            async for part in parts:
                line += part
                if b"\n" in line:
                    return cls(coding.read(LibraryItem, bytes(line).split(b"\n")[0], exchange.status), exchange, parts)
                if len(line) > _MAXIMUM_LINE_LENGTH:
                    break
            raise UnexpectedResponse("a lease without a line", status=exchange.status)
        except BaseException:
            exchange.close()
            raise

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends the lease."""
        self._exchange.close()

    async def ended(self) -> None:
        """Waits until the agent has ended the lease; raises ``Unreachable`` if the connection breaks."""
        async for _ in self._parts:
            pass
