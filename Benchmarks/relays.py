"""What goes between a server and those that it asks, counted on its way."""
import contextlib
import itertools
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
        self.recording = None
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

    def note_transaction(self, statements):
        with self.lock:
            if self.recording:
                self.recording.transactions.append(statements)

    def note_wait(self, text):
        """What is waited for: the statement that was sent last."""
        with self.lock:
            if self.recording and text.startswith(Recording.BEFORE):
                self.recording.before.append(text)
            self.waits.append(" ".join(text.decode().split())[:100])


class Questions:
    """The messages of one connection, by PostgreSQL's protocol of version 3. The server sends what it has after Flush and after
    Sync, and each is waited for, but for the Sync at the end of a transaction that has only read: its answer is taken with the
    next one's."""

    def __init__(self, relay):
        self.relay = relay
        self.rest = b""
        self.is_begun = self.only_reads = False
        self.texts, self.last, self.transaction = {}, b"", []

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
            self.transaction.append((self.last, values_of(body)))
            self.relay.note_statement()
        elif kind == b"Q":
            self.relay.note_wait(body.rstrip(b"\0"))
        elif kind == b"H" or kind == b"S" and not self.only_reads:
            self.relay.note_wait(self.last)
        if kind == b"S":
            self.relay.note_transaction(self.transaction)
            self.transaction = []


def values_of(body):
    """The values of a Bind: the bytes of each, None for NULL, and whether they are binary."""
    _, _, rest = body.split(b"\0", 2)
    count, = struct.unpack_from("!H", rest)
    formats = struct.unpack_from(f"!{count}H", rest, 2)
    place = 2 + 2 * count
    number, = struct.unpack_from("!H", rest, place)
    place += 2
    values = []
    for index in range(number):
        length, = struct.unpack_from("!i", rest, place)
        place += 4
        values.append((None if length < 0 else rest[place:place + length], formats[index if count > 1 else 0] if count else 0))
        place += max(length, 0)
    return values


class Recording:
    """The transactions of first grants, for Benchmarks/peers/pipeline.c, which describes the file."""

    # What makes rows that later statements need.
    BEFORE = b"INSERT INTO commit_marks"
    GRANT = b"INTO grants ("

    def __init__(self):
        self.before, self.transactions = [], []

    def grants(self):
        """The statements up to each grant, those of its reading among them."""
        grants, statements = [], []
        for transaction in self.transactions:
            if transaction[-1][0] != b"COMMIT":
                continue
            statements += transaction
            if any(self.GRANT in text for text, _ in transaction):
                grants.append(statements)
                statements = []
        return grants

    def write(self, path):
        places = {}
        grants = self.grants()
        for text, _ in itertools.chain(*grants):
            places.setdefault(text, len(places))
        with open(path, "wb") as file:
            for texts in (self.before, places):
                file.write(struct.pack("=i", len(texts)))
                for text in texts:
                    file.write(struct.pack("=i", len(text)) + text + b"\0")
            file.write(struct.pack("=i", len(grants)))
            for statements in grants:
                file.write(struct.pack("=i", len(statements)))
                for text, values in statements:
                    file.write(struct.pack("=ii", places[text], len(values)))
                    for value, is_binary in values:
                        file.write(struct.pack("=ii", -1 if value is None else len(value), is_binary))
                        file.write(b"" if value is None else value + b"\0")
