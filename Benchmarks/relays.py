"""What goes between a server and those that it asks, counted on its way."""
import contextlib
import socket
import struct
import threading

PIECE = 1 << 20
VERSION_3 = 196608


class Relay:
    """Listens, hands everything on, and counts the bytes that come back."""

    def __init__(self, listener, target):
        self.listener, self.target = listener, target
        self.returned = 0
        self.lock = threading.Lock()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                threading.Thread(target=self.connect, args=[near], daemon=True).start()

    def connect(self, near):
        far = self.target()
        threading.Thread(target=self.carry, args=[near, far, self.reader()], daemon=True).start()
        self.carry(far, near, self.count)

    def carry(self, source, sink, see):
        """Until one side ends; the other then learns of it."""
        buffer = memoryview(bytearray(PIECE))
        with contextlib.suppress(OSError):
            while count := source.recv_into(buffer):
                see(buffer[:count])
                sink.sendall(buffer[:count])
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def count(self, piece):
        with self.lock:
            self.returned += len(piece)

    def reader(self):
        """What sees the bytes of a new connection's questions."""
        return lambda _: None

    def close(self):
        self.listener.close()


class StoreRelay(Relay):
    def __init__(self, host, port):
        super().__init__(socket.create_server(("127.0.0.1", 0)), lambda: socket.create_connection((host, port)))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"


class PrimaryRelay(Relay):
    """Tells for which statements a server waits for its PostgreSQL, and how many it sends."""

    def __init__(self, path, target):
        self.waits, self.statements = [], 0
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        listener.listen(64)
        super().__init__(listener, lambda: self.reach(target))

    @staticmethod
    def reach(path):
        far = socket.socket(socket.AF_UNIX)
        far.connect(str(path))
        return far

    def reader(self):
        return Questions(self).see

    def note_statement(self):
        with self.lock:
            self.statements += 1

    def note_wait(self, text):
        """What is waited for: the statement that was sent last."""
        with self.lock:
            self.waits.append(" ".join(text.decode().split())[:100])


class Questions:
    """The messages of one connection, by PostgreSQL's protocol of version 3. The server sends what it has after Flush and after
    Sync, and each is waited for, but for the Sync at the end of a transaction that has only read: its answer is taken with the
    next one's."""

    def __init__(self, relay):
        self.relay = relay
        self.rest = b""
        self.is_begun = self.only_reads = False
        self.texts, self.last = {}, b""

    def see(self, piece):
        self.rest += bytes(piece)
        while self.take():
            pass

    def take(self):
        """Whether a message was there whole."""
        start = 1 if self.is_begun else 0
        if len(self.rest) < start + 4:
            return False
        end = start + struct.unpack_from("!I", self.rest, start)[0]
        if len(self.rest) < end:
            return False
        kind, body, self.rest = self.rest[:start], self.rest[start + 4:end], self.rest[end:]
        if not self.is_begun:
            # Before that a client may ask for encryption.
            self.is_begun = struct.unpack_from("!I", body)[0] == VERSION_3
        else:
            self.judge(kind, body)
        return True

    def judge(self, kind, body):
        if kind == b"P":
            name, text, _ = body.split(b"\0", 2)
            self.texts[name] = text
        elif kind == b"B":
            self.last = self.texts[body.split(b"\0", 2)[1]]
            if self.last.startswith(b"BEGIN"):
                self.only_reads = self.last.endswith(b"READ ONLY")
            self.relay.note_statement()
        elif kind == b"Q":
            self.relay.note_wait(body.rstrip(b"\0"))
        elif kind == b"H" or kind == b"S" and not self.only_reads:
            self.relay.note_wait(self.last)
