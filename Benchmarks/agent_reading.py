"""Reading while it downloads, for scripts/bench agent: how soon pages come, and what that costs the delivery and other readers."""
import http.client
import json
import random
import socket
import subprocess
import threading
import time

from agent_bus import ask
from measuring import memory, say, wait_until
from reporting import Extra, Target, row

PRODUCT = "com.example.bench.read"
# Of the file that is read; --bytes makes it smaller.
LENGTH = 200_000_000
# Bytes a second of the slow way.
SPEED = 2_000_000
# And of one that leaves the processors something to do: a good deal of a gigabit. PAIRS are measured, one with a reader and one without.
FAST, PAIRS = 100_000_000, 3
PAGE = 1 << 20
JUMPS = 10
# A running download, what takes its place, and how often.
RUNNING, RUNNING_LENGTH = "com.example.bench.running", 100_000_000
URGENT, URGENT_LENGTH, PREEMPTIONS = "com.example.bench.urgent", 20_000_000, 5
# Readers of one download, and those of them that take no byte of their answer.
READERS, SILENT = 64, 4


class Reader:
    """One connection to an agent's socket, as an application keeps it."""

    def __init__(self, agent):
        self.connection = http.client.HTTPConnection("agent", timeout=120)
        self.connection.sock = socket.socket(socket.AF_UNIX)
        self.connection.sock.connect(str(agent.socket))

    def get(self, target, first=None, count=PAGE):
        """Seconds until all of the answer is here, and the answer."""
        fields = {} if first is None else {"Range": f"bytes={first}-{first + count - 1}"}
        start = time.monotonic()
        self.connection.request("GET", target, headers=fields)
        response = self.connection.getresponse()
        body = response.read()
        if response.status not in (200, 206) or first is not None and len(body) != count:
            raise RuntimeError(f"GET {target}: {response.status} with {len(body)} bytes")
        return time.monotonic() - start, body

    def drain(self, target):
        """Reads all of the answer, and keeps nothing."""
        self.connection.request("GET", target)
        response = self.connection.getresponse()
        place, count = memoryview(bytearray(PAGE)), 0
        while taken := response.readinto(place):
            count += taken
        if response.status != 200 or response.length:
            raise RuntimeError(f"GET {target}: {response.status} with {count} bytes")

    def json(self, target):
        return json.loads(self.get(target)[1])


class Purchase(threading.Thread):
    """Buys, and notes when what was bought is at its place."""

    def __init__(self, agent):
        super().__init__()
        self.agent, self.ended = agent, None

    def run(self):
        self.agent.deliver(PRODUCT)
        self.ended = time.monotonic()


def begin(agent, length):
    """Buys, and returns the address of the one file once it is being transferred; with the purchase, which goes on."""
    purchase = Purchase(agent)
    purchase.start()
    reader = Reader(agent)
    while True:
        try:
            files = reader.json(f"/v1/library/{PRODUCT}/files?wait=30")["files"]
            break
        except (RuntimeError, subprocess.CalledProcessError):
            # The purchase has not made a download yet.
            time.sleep(0.02)
    if files[0]["length"] != length:
        raise RuntimeError("another file than was published")
    return reader, f"/v1/library/{PRODUCT}/files/{files[0]['path']}", purchase


def slow_rows(arguments, services, Agent, length):
    """Pages over a way of 2 MB/s."""
    plain, read, first, jumps = [], [], [], []
    draw = random.Random(1)
    with Agent(arguments, services, maximumSpeed=SPEED) as agent:
        plain.append(agent.deliver(PRODUCT))
    with Agent(arguments, services, maximumSpeed=SPEED) as agent:
        start = time.monotonic()
        reader, path, purchase = begin(agent, length)
        first.append(reader.get(path, 0)[0])
        for _ in range(JUMPS):
            jumps.append(reader.get(path, draw.randrange(0, length - PAGE))[0])
            time.sleep(3)
        purchase.join()
        # Of a short file before the last jump.
        read.append(purchase.ended - start)
    work = f"{length // 1_000_000} MB at {SPEED // 1_000_000} MB/s"
    # A page of 1 MiB lies in two pieces at most.
    bound = 1.5 * 2 * PAGE / SPEED + 1
    return [row("reading-first", f"{work}, page 1 from asking", "s", {"pullbox": first}, [Target(None, bound)]),
            row("reading-jump", f"{work}, any page from asking", "s", {"pullbox": jumps}, [Target(None, 1.5)]),
            row("reading-end", f"{work}, bought to placed, {JUMPS} jumps", "s", {"pullbox": read, "unread": plain},
                [Target("unread", 1.03)])]


def fast_rows(arguments, services, Agent, length):
    """The same with a reader of all of it, over a fast way and over loopback, and what is verified."""
    verified, rows = [], []
    for name, work, options, targets in (
            ("reading-speed", f" at {FAST // 1_000_000} MB/s", {"maximumSpeed": FAST}, [Target("unread", 0.97, "at least")]),
            # Here whoever reads takes the processors that bring the bytes.
            ("reading-loopback", " over loopback", {}, [])):
        plain, read = [], []
        for _ in range(PAIRS * arguments.runs):
            with Agent(arguments, services, **options) as agent:
                plain.append(length / agent.deliver(PRODUCT) / 1e6)
            with Agent(arguments, services, **options) as agent:
                start = time.monotonic()
                reader, path, purchase = begin(agent, length)
                reader.drain(path)
                purchase.join()
                read.append(length / (purchase.ended - start) / 1e6)
                verified += [1000 * reader.get(path, number * PAGE)[0] for number in range(min(100, length // PAGE))]
        rows.append(row(name, f"{length // 1_000_000} MB{work} with one reader", "MB/s", {"pullbox": read, "unread": plain}, targets))
    return [*rows, row("reading-verified", "a verified page of 1 MiB over the socket", "ms",
                {"pullbox": [sorted(verified)[len(verified) // 2]]}, [Target(None, 1.3)])]


def preempting_rows(arguments, services, Agent, package):
    """From asking for a download now, where another one has the only place, to the first byte of it."""
    for product, length in ((RUNNING, RUNNING_LENGTH), (URGENT, URGENT_LENGTH)):
        services.publish(product, package(arguments, product, length))
    taken = []
    for _ in range(PREEMPTIONS):
        with Agent(arguments, services, maximumSpeed=SPEED, maximumDownloads=1, metered="ignore", busy="ignore") as agent:
            def download(product):
                listed = ask(agent.socket, "GET", "/v1/downloads")["downloads"]
                return next((one for one in listed if one["product"] == product), None)

            agent.pullbox("buy", RUNNING, "--yes")
            wait_until(lambda: (download(RUNNING) or {"bytesReceived": 0})["bytesReceived"] > 0, "a download that runs")
            agent.pullbox("buy", URGENT, "--yes")
            waiting = wait_until(lambda: download(URGENT), "a second download")
            if waiting["bytesReceived"] or waiting["state"] != "waiting":
                raise RuntimeError(f"the second download does not wait: {waiting}")
            target = f"/v1/downloads/{waiting['id']}"
            start = time.monotonic()
            ask(agent.socket, "PATCH", target, {"urgency": "now"})
            while not ask(agent.socket, "GET", target)["bytesReceived"]:
                pass
            taken.append(time.monotonic() - start)
            if download(RUNNING)["reason"] != "preempted":
                raise RuntimeError(f"the download before it was not preempted: {download(RUNNING)}, {download(URGENT)}")
    return [row("reading-preempt", "wanted now in the place of another download, to its first byte", "s", {"pullbox": taken},
                [Target(None, 0.3)])]


def silent_reader(agent, path):
    """A connection that has asked for the whole file, and reads nothing of it."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(agent.socket))
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: agent\r\n\r\n".encode())
    return connection


def crowd(agent, path, pages, count):
    """Seconds in which so many readers have read all these pages, each from another one on, and the most memory meanwhile."""
    failures = []

    def read(number):
        try:
            reader = Reader(agent)
            for page in range(pages):
                reader.get(path, (number + page) % pages * PAGE)
            reader.connection.close()
        except (OSError, RuntimeError, http.client.HTTPException) as error:
            failures.append(error)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(count)]
    start, most = time.monotonic(), 0
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        most = max(most, memory(agent.daemon.pid, "RssAnon"))
        time.sleep(0.02)
    if failures:
        raise RuntimeError(f"{len(failures)} readers failed: {failures[0]}")
    return time.monotonic() - start, most / PAGE


def crowd_rows(arguments, services, Agent, length):
    """Readers of what has come of a download, beside readers who never read on, and without these, in turn."""
    seconds, anonymous = {"pullbox": [], "none silent": []}, {"pullbox": [], "none silent": []}
    with Agent(arguments, services, maximumSpeed=SPEED) as agent:
        reader, path, purchase = begin(agent, length)
        pages = min(length // PAGE // 2, 16)
        reader.get(path, 0, pages * PAGE)
        crowd(agent, path, pages, READERS - SILENT)
        for _ in range(arguments.runs):
            for name, silent in (("none silent", 0), ("pullbox", SILENT)):
                connections = [silent_reader(agent, path) for _ in range(silent)]
                taken, most = crowd(agent, path, pages, READERS - SILENT)
                seconds[name].append(taken)
                anonymous[name].append(most)
                for connection in connections:
                    connection.close()
        say("  reading: " + ", ".join(f"{name} {values[-1]:.2f} s" for name, values in seconds.items()))
        purchase.join()
    what = f"{READERS - SILENT} readers of a download beside {SILENT} that never read on"
    return [row("reading-crowd", f"{what}, {pages} pages each", "s", seconds, [Target("none silent", 1.05)]),
            row("reading-crowd-memory", f"{what}, RssAnon", "MiB", anonymous, [Extra("none silent", 8)])]


def rows(arguments, services, Agent, package):
    length = min(arguments.bytes, LENGTH)
    services.publish(PRODUCT, package(arguments, PRODUCT, length))
    return (slow_rows(arguments, services, Agent, length) + fast_rows(arguments, services, Agent, length)
            + preempting_rows(arguments, services, Agent, package) + crowd_rows(arguments, services, Agent, length))
