"""One exchange of HTTP/1.1 over a Unix socket, with a bound for each part that is read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Self

from .errors import UnexpectedResponse, Unreachable

MAXIMUM_HEAD_LENGTH = 32 * 1024
"""Bytes of a status line and the fields behind it."""
MAXIMUM_BODY_LENGTH = 16 * 1024 * 1024
"""Bytes of an answer's body; a stream has no bound, but its events have."""
MAXIMUM_CHUNK_LINE_LENGTH = 256


class Exchange:
    """A request that was sent, and its answer as it comes. Each connection carries one."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.status = 0
        self.fields: dict[str, str] = {}
        self._length: int | None = None
        self._is_chunked = False

    @classmethod
    async def begin(
        cls, socket_path: str, method: str, target: str, fields: Sequence[tuple[str, str]] = (), body: bytes | None = None
    ) -> Self:
        """Connects, sends the request and reads the answer's head."""
        try:
            reader, writer = await asyncio.open_unix_connection(socket_path, limit=MAXIMUM_HEAD_LENGTH)
        except OSError as error:
            raise Unreachable(f"no agent answers at {socket_path}: {error.strerror or error}") from error
        exchange = cls(reader, writer)
        try:
            lines = [f"{method} {target} HTTP/1.1", "Host: agent", "Connection: close"]
            lines += [f"{name}: {value}" for name, value in fields]
            if body is not None:
                lines.append(f"Content-Length: {len(body)}")
            try:
                writer.write("\r\n".join([*lines, "", ""]).encode("ascii") + (body or b""))
                await writer.drain()
            except OSError:
                # A refusal may have been sent before the body was read.
                pass
            await exchange._read_head()
        except BaseException:
            exchange.close()
            raise
        return exchange

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection, also in the middle of an answer."""
        self._writer.transport.abort()

    @property
    def media_type(self) -> str:
        """The type of the body without its parameters."""
        return self.fields.get("content-type", "").split(";")[0].strip().lower()

    async def _read_head(self) -> None:
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            raise UnexpectedResponse(f"its head has more than {MAXIMUM_HEAD_LENGTH} bytes") from None
        except (asyncio.IncompleteReadError, OSError) as error:
            raise _broken(error) from error
        first, *lines = head.decode("latin-1").split("\r\n")[:-2]
        words = first.split(" ", 2)
        if "\r" in first or "\n" in first:
            raise UnexpectedResponse("its first line has a line break within")
        if len(words) < 2 or words[0] != "HTTP/1.1" or len(words[1]) != 3 or not (words[1].isascii() and words[1].isdigit()):
            raise UnexpectedResponse("it does not begin as an answer of HTTP/1.1")
        self.status = int(words[1])
        for line in lines:
            name, colon, value = line.partition(":")
            name = name.lower()
            if not colon or not name or name != name.strip() or "\n" in line or "\r" in line:
                raise UnexpectedResponse("it has a field that is none", status=self.status)
            if name in ("content-length", "transfer-encoding") and name in self.fields:
                raise UnexpectedResponse(f"it has two fields {name}", status=self.status)
            self.fields[name] = value.strip()
        self._read_framing()

    def _read_framing(self) -> None:
        length, coding = self.fields.get("content-length"), self.fields.get("transfer-encoding")
        if coding is not None:
            if coding.lower() != "chunked" or length is not None:
                raise UnexpectedResponse("it does not say how long it is", status=self.status)
            self._is_chunked = True
        elif self.status == 204:
            self._length = 0
        elif length is not None:
            if not (length.isascii() and length.isdigit()) or len(length) > 18:
                raise UnexpectedResponse(f"Content-Length is {length[:40]}", status=self.status)
            self._length = int(length)

    async def body(self) -> bytes:
        """All of the body."""
        maximum = MAXIMUM_BODY_LENGTH
        if self._length is not None and self._length > maximum:
            raise UnexpectedResponse(f"it has {self._length} bytes, more than {maximum}", status=self.status)
        parts = bytearray()
        async for part in self.parts():
            parts += part
            if len(parts) > maximum:
                raise UnexpectedResponse(f"it has more than {maximum} bytes", status=self.status)
        return bytes(parts)

    async def parts(self) -> AsyncIterator[bytes]:
        """The body in the parts in which it comes. Raises ``Unreachable`` if the connection ends before the body does."""
        if self._is_chunked:
            while length := await self._chunk_length():
                async for part in self._exactly(length):
                    yield part
                if await self._line() != b"":
                    raise UnexpectedResponse("a chunk is longer than it says", status=self.status)
            for _ in range(100):
                if await self._line() == b"":
                    return
            raise UnexpectedResponse("it has more than 100 fields behind its body", status=self.status)
        if self._length is not None:
            async for part in self._exactly(self._length):
                yield part
            return
        while part := await self._some(64 * 1024):
            yield part

    async def _exactly(self, length: int) -> AsyncIterator[bytes]:
        while length:
            part = await self._some(min(length, 64 * 1024))
            if not part:
                raise Unreachable("the agent ended the connection within an answer", connection_lost=True)
            length -= len(part)
            yield part

    async def _some(self, length: int) -> bytes:
        try:
            return await self._reader.read(length)
        except OSError as error:
            raise _broken(error) from error

    async def _chunk_length(self) -> int:
        digits = (await self._line()).split(b";")[0].strip()
        if not digits or len(digits) > 8 or digits.strip(b"0123456789abcdefABCDEF"):
            raise UnexpectedResponse("a chunk does not begin with its length", status=self.status)
        return int(digits, 16)

    async def _line(self) -> bytes:
        try:
            line = await self._reader.readuntil(b"\r\n")
        except asyncio.LimitOverrunError:
            line = b" " * (MAXIMUM_CHUNK_LINE_LENGTH + 3)
        except (asyncio.IncompleteReadError, OSError) as error:
            raise _broken(error) from error
        if len(line) > MAXIMUM_CHUNK_LINE_LENGTH + 2:
            raise UnexpectedResponse("a line between chunks is too long", status=self.status)
        if b"\r" in line[:-2]:
            raise UnexpectedResponse("a line between chunks has a carriage return within", status=self.status)
        return line[:-2]


def _broken(error: Exception) -> Unreachable:
    cause = error.strerror if isinstance(error, OSError) and error.strerror else "it ended the connection"
    return Unreachable(f"the agent did not answer: {cause}", connection_lost=True)
