"""Clients that want a server's memory, its connections or its time, all at once, from addresses of their own."""
import collections
import json
import re
import selectors
import socket
import subprocess
import threading
import time

SILENT, HALF_SENT, LOCALES, WRONG_KEYS = 10_000, 200, 50_000, 100
BODY = 3 << 20
ANNOUNCED = {"501", "503", "507"}
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


class Attackers:
    """Until the end of the block: 10,000 connections that say nothing, 200 bodies that miss their last byte, made-up locales at
    an even rate, and 100 wrong keys a second. The block begins when the connections are there and the bodies are as far as they
    get. `statuses` counts what they were answered. `asking` is the program that asks for the locales and with the keys."""

    def __init__(self, asking, port, product, locales_a_second):
        self.asking, self.port, self.product, self.locales_a_second = asking, port, product, locales_a_second
        self.is_silent, self.is_half_sent = threading.Event(), threading.Event()
        self.statuses = collections.Counter()
        self.without_retry_after = 0
        self.lock = threading.Lock()
        self.ended = threading.Event()

    def __enter__(self):
        work = [self.say_nothing, self.send_halves]
        self.threads = [threading.Thread(target=self.until_ended, args=(one,)) for one in work]
        for thread in self.threads:
            thread.start()
        self.is_silent.wait(30)
        self.is_half_sent.wait(30)
        self.process = subprocess.Popen(
            [str(word) for word in (self.asking, "--port", self.port, "--product", self.product, "--locales", self.locales_a_second,
                                    "--keys", WRONG_KEYS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *error):
        self.ended.set()
        told = json.loads(self.process.communicate()[0])
        self.statuses.update(told["statuses"])
        self.without_retry_after += told["withoutRetryAfter"]
        for thread in self.threads:
            thread.join()

    def until_ended(self, work):
        try:
            work()
        except OSError:
            # The server has closed a connection that it had enough of.
            if not self.ended.is_set():
                self.until_ended(work)

    def unannounced(self):
        """Answers of the class 5xx that no document announces."""
        return sum(count for status, count in self.statuses.items() if status[0] == "5" and status not in ANNOUNCED)

    def connect(self, host, blocking=True):
        connection = socket.socket()
        connection.bind((host, 0))
        connection.connect(("127.0.0.1", self.port))
        connection.setblocking(blocking)
        return connection

    def note(self, received):
        found = STATUS.findall(received)
        with self.lock:
            self.statuses.update(status.decode() for status in found)
            unavailable = sum(status == b"503" for status in found)
            self.without_retry_after += max(0, unavailable - received.lower().count(b"\r\nretry-after:"))
        return len(found)

    # ---- what they do

    def say_nothing(self):
        connections = []
        for number in range(SILENT):
            if self.ended.is_set():
                break
            try:
                connections.append(self.connect(f"127.66.{number // 5000}.{number // 100 % 50 + 1}"))
            except OSError:
                time.sleep(0.01)
        self.is_silent.set()
        self.ended.wait()
        for connection in connections:
            connection.close()

    def send_halves(self):
        head = f"POST /v1/grants HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {BODY}\r\n\r\n".encode()
        content = head + b" " * (BODY - 1)
        selector = selectors.DefaultSelector()
        for number in range(HALF_SENT):
            connection = self.connect(f"127.67.0.{number + 1}", blocking=False)
            selector.register(connection, selectors.EVENT_READ | selectors.EVENT_WRITE, [0])
        open_count, quiet = HALF_SENT, 0
        while not self.ended.is_set() and open_count > 0:
            ready = selector.select(0.5)
            # Neither side moves: the server has taken what it takes, and refused what found no room for longer than 2 s.
            quiet = 0 if ready else quiet + 1
            if quiet == 6:
                self.is_half_sent.set()
            for key, events in ready:
                connection, sent = key.fileobj, key.data
                try:
                    if events & selectors.EVENT_WRITE:
                        sent[0] += connection.send(memoryview(content)[sent[0]:sent[0] + 65536])
                        if sent[0] == len(content):
                            selector.modify(connection, selectors.EVENT_READ, sent)
                    if events & selectors.EVENT_READ:
                        received = connection.recv(65536)
                        self.note(received)
                        if not received:
                            raise ConnectionResetError
                except BlockingIOError:
                    continue
                except OSError:
                    selector.unregister(connection)
                    connection.close()
                    open_count -= 1
        self.is_half_sent.set()
        for key in list(selector.get_map().values()):
            key.fileobj.close()
