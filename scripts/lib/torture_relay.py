"""What stands between a device, or a payment store, and the delivery server: it passes requests on, spoils them where it is told to, and
remembers which bytes of packages it has passed on, to whom and by which ticket."""

import contextlib
import dataclasses
import socket
import struct
import threading
import time

HEAD_BYTES = 65536
CHUNK_BYTES = 16384
# Between two chunks of a slow answer: about 160 KiB a second.
SLOW_SECONDS = 0.1
PORTAL = b"<!doctype html><title>Welcome</title><p>Please accept our terms to use this network.</p>\n"
# What the first word of an event does to a request; the others wait for nothing.
FAULTS = ("away", "still", "slow", "alter", "double", "short", "portal", "redirect", "lose", "repeat")


@dataclasses.dataclass
class Flow:
    """An answer with bytes of a package that was passed on, or some of it."""

    begun: float
    digest: str
    ticket: str
    status: int
    wanted: int
    # The first byte of the package that it has.
    first: int = 0
    sent: int = 0
    ended: float | None = None
    # Whether it came to its end as the server sent it.
    is_whole: bool = False
    # Whether nothing more of it comes, however it ended.
    is_over: bool = False


class Ended(Exception):
    """A side of a connection has ended, or says what is no HTTP."""


class Side:
    """One side of a connection, which is read up to a line's or a head's end."""

    def __init__(self, connection):
        self.connection, self.rest = connection, b""

    def head(self):
        while b"\r\n\r\n" not in self.rest:
            self.more()
            if len(self.rest) > HEAD_BYTES:
                raise Ended
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        return head

    def line(self):
        while b"\r\n" not in self.rest:
            self.more()
        line, self.rest = self.rest.split(b"\r\n", 1)
        return line

    def more(self):
        data = self.connection.recv(65536)
        if not data:
            raise Ended
        self.rest += data

    def some(self, most):
        if not self.rest:
            self.more()
        data, self.rest = self.rest[:most], self.rest[most:]
        return data

    def exactly(self, count):
        while len(self.rest) < count:
            self.more()
        data, self.rest = self.rest[:count], self.rest[count:]
        return data


def fields_of(head):
    """The first line, and the values by the names of fields in lower case."""
    first, *lines = head.decode("latin-1").split("\r\n")
    fields = {}
    for line in lines:
        name, _, value = line.partition(":")
        fields[name.strip().lower()] = value.strip()
    return first, fields


class Relay(threading.Thread):
    """One port, and the port of the server behind it."""

    def __init__(self, name, port, target):
        super().__init__(daemon=True)
        self.name, self.port, self.target = name, port, target
        self.listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self.lock, self.ends, self.flows = threading.Lock(), set(), []
        self.fault, self.left, self.spares_manifests, self.lifted = None, 0, False, threading.Event()
        self.lifted.set()
        self.spoiled, self.lost = 0, 0.0

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def set(self, fault, times=1 << 30, spares_manifests=False):
        """From now on; `times` is how many answers it may spoil. A manifest comes before its package, and has been spoiled by then."""
        with self.lock:
            self.fault, self.left, self.spares_manifests = fault, times, spares_manifests
        if fault == "still":
            self.lifted.clear()
        else:
            self.lifted.set()
        if fault == "away":
            self.cut()

    def lift(self):
        self.set(None)

    def cut(self):
        """Every connection is reset, whatever is on its way."""
        with self.lock:
            ends = list(self.ends)
        for end in ends:
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.end(end)

    def stop(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.lifted.set()
        self.cut()

    def end(self, end):
        with self.lock:
            self.ends.discard(end)
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            end.close()

    def take(self, *faults):
        """The fault that is set, if it is one of these and may spoil another answer."""
        with self.lock:
            if self.fault not in faults or self.left <= 0:
                return None
            self.left -= 1
            self.spoiled += 1
            return self.fault

    # What a connection goes through.

    def serve(self, client):
        with self.lock:
            self.ends.add(client)
        server = None
        try:
            reader = Side(client)
            while True:
                head = reader.head()
                first, fields = fields_of(head)
                body = reader.exactly(int(fields.get("content-length", 0)))
                self.lifted.wait()
                if self.fault == "away":
                    return
                if answer := self.portal(first):
                    client.sendall(answer)
                    return
                if self.take("lose"):
                    self.lost = time.time()
                    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                    continue
                repeats = 2 if self.take("repeat") else 0
                if server is None:
                    server = self.connect()
                server = self.pass_on(client, server, head, first, fields, body)
                for _ in range(repeats):
                    self.repeat(head, body)
                if server is None:
                    return
        except (Ended, OSError, ValueError):
            pass
        finally:
            self.end(client)
            if server:
                self.end(server)

    def connect(self):
        server = socket.create_connection(("127.0.0.1", self.target()), 10)
        server.settimeout(None)
        with self.lock:
            self.ends.add(server)
        return server

    def portal(self, first):
        fault = self.take("portal", "redirect")
        if fault == "redirect":
            return (b"HTTP/1.1 302 Found\r\nLocation: http://portal.invalid/login\r\nContent-Type: text/html\r\nContent-Length: "
                    + str(len(PORTAL)).encode() + b"\r\nConnection: close\r\n\r\n" + PORTAL)
        if fault == "portal":
            return (b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: " + str(len(PORTAL)).encode()
                    + b"\r\nConnection: close\r\n\r\n" + (b"" if first.startswith("HEAD ") else PORTAL))
        return None

    def repeat(self, head, body):
        """The same request once more, on a connection of its own; its answer is nobody's."""
        with contextlib.suppress(Ended, OSError, ValueError), contextlib.closing(self.connect()) as server:
            server.settimeout(10)
            server.sendall(head + b"\r\n\r\n" + body)
            Side(server).head()

    def pass_on(self, client, server, head, first, fields, body):
        """The server's connection, if another request may follow on it."""
        lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"expect:")]
        server.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + body)
        source = Side(server)
        answer = source.head()
        while answer.startswith(b"HTTP/1.1 100"):
            answer = source.head()
        status_line, answered = fields_of(answer)
        status = int(status_line.split()[1])
        method, path = first.split()[:2]
        self.lifted.wait()
        client.sendall(answer + b"\r\n\r\n")
        keeps = "close" not in (fields.get("connection", "") + answered.get("connection", "")).lower()
        if method == "HEAD" or status in (204, 304):
            return server if keeps else None
        if "chunked" in answered.get("transfer-encoding", "").lower():
            self.chunks(source, client)
        elif "content-length" in answered:
            length = int(answered["content-length"])
            flow = self.flow(path, fields, answered, status, length)
            try:
                if not self.copy(source, client, length, flow, self.is_verified(path, status)):
                    return None
            finally:
                if flow:
                    flow.is_over = True
        else:
            while True:
                client.sendall(source.some(CHUNK_BYTES))
        return server if keeps else None

    def is_verified(self, path, status):
        """Whether a digest that came another way covers the bytes of the answer, which then may be spoiled."""
        return status in (200, 206) and "/v1/content/" in path and not (self.spares_manifests and path.partition("?")[0].endswith("/manifest"))

    def flow(self, path, fields, answered, status, length):
        place, _, query = path.partition("?")
        name = place.rpartition("/v1/content/")[2]
        if status not in (200, 206) or "/v1/content/" not in place or len(name) != 64:
            return None
        ticket = fields.get("authorization", "").removeprefix("Bearer ")
        for part in query.split("&"):
            if part.startswith("ticket="):
                ticket = part.removeprefix("ticket=")
        first = answered.get("content-range", "bytes 0-").removeprefix("bytes ").partition("-")[0]
        flow = Flow(time.time(), name, ticket, status, length, int(first) if first.isdigit() else 0)
        with self.lock:
            self.flows.append(flow)
        return flow

    def copy(self, source, client, length, flow, is_verified):
        """Whether all of it was passed on."""
        fault = self.take("alter", "double", "short") if is_verified and length > 1 else None
        # In the middle, where a piece is half done.
        place, passed, held = length // 2, 0, b""
        while passed < length:
            data = source.some(min(CHUNK_BYTES, length - passed))
            end = passed + len(data)
            if fault and passed <= place < end:
                inside = place - passed
                if fault == "short":
                    client.sendall(data[:inside])
                    return False
                if fault == "alter":
                    data = data[:inside] + bytes([data[inside] ^ 1]) + data[inside + 1:]
                if fault == "double":
                    # So many bytes come again in the place of those that follow.
                    again = data[max(inside - 64, 0):inside] or bytes([data[0] ^ 1])
                    data = (data[:inside] + again + data[inside:])[:len(data)]
            self.lifted.wait()
            if self.take("slow"):
                time.sleep(SLOW_SECONDS)
            client.sendall(data)
            passed = end
            if flow:
                flow.sent, flow.ended = passed, time.time()
        if flow:
            flow.is_whole = fault is None
        return True

    def chunks(self, source, client):
        while True:
            line = source.line()
            size = int(line.split(b";")[0], 16)
            client.sendall(line + b"\r\n" + source.exactly(size + 2))
            if size == 0:
                return

    def taken(self):
        """The flows since the last call."""
        with self.lock:
            flows, self.flows = self.flows, []
        return flows
