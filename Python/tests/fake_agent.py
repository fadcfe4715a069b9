"""An agent's socket in the test's process: each connection gets the next answer that the test has written."""

from __future__ import annotations

import asyncio
import json
import pathlib
import tempfile
import unittest
from collections.abc import Awaitable, Callable

import pullbox

Answer = bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]


def answer(status: int, document: object = None, media: str = "application/json") -> bytes:
    """An answer as the agent writes it."""
    body = b"" if document is None else json.dumps(document).encode()
    fields = f"Content-Type: {media}\r\nContent-Length: {len(body)}\r\n" if document is not None else "Content-Length: 0\r\n"
    return f"HTTP/1.1 {status} Fine\r\n{fields}\r\n".encode() + body


def problem(status: int, code: str, **members: object) -> bytes:
    document = {"type": f"urn:pullbox:problem:{code}", "title": "It is refused", "status": status, **members}
    return answer(status, document, "application/problem+json")


STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def event(name: str, document: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps(document)}\n\n".encode()


def stream(*parts: bytes, ends: bool = True) -> bytes:
    """A stream of events; one that does not end breaks off."""
    return STREAM_HEAD + b"".join(chunk(part) for part in parts) + (b"0\r\n\r\n" if ends else b"")


class FakeAgentTestCase(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = str(pathlib.Path(directory.name) / "agent.sock")
        # The loop of tests reports callbacks that take long, which a busy machine makes of any.
        asyncio.get_running_loop().slow_callback_duration = 60
        self.answers: list[Answer] = []
        self.requests: list[bytes] = []
        self.delays: list[float] = []
        self.server = await asyncio.start_unix_server(self._serve, self.path)
        self.addCleanup(self.server.close)
        self.agent = pullbox.AgentClient(self.path, timeout=60)

        async def note(seconds: float) -> None:
            self.delays.append(seconds)

        self.agent._sleep = note

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next((int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length:")), 0)
            self.requests.append(head + await reader.readexactly(length))
            made = self.answers.pop(0) if self.answers else b""
            if isinstance(made, bytes):
                writer.write(made)
                await writer.drain()
            else:
                await made(writer)
        except (OSError, asyncio.IncompleteReadError):
            # The client has gone, as some tests want.
            pass
        finally:
            writer.close()

    def targets(self) -> list[str]:
        return [" ".join(request.decode().split(" ")[:2]) for request in self.requests]

    def last_body(self) -> object:
        return json.loads(self.requests[-1].split(b"\r\n\r\n", 1)[1])
