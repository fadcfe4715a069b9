"""Reading while it downloads, for scripts/bench agent: how soon pages come, and what that costs the delivery."""
import http.client
import json
import random
import socket
import subprocess
import threading
import time

from reporting import Target, row

PRODUCT = "com.example.bench.read"
# Of the file that is read; --bytes makes it smaller.
LENGTH = 200_000_000
# Bytes a second of the slow way.
SPEED = 2_000_000
PAGE = 1 << 20
JUMPS = 10


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
    """The same over loopback as fast as it goes, and what is verified."""
    plain, read, verified = [], [], []
    for _ in range(arguments.runs):
        with Agent(arguments, services) as agent:
            plain.append(length / agent.deliver(PRODUCT) / 1e6)
        with Agent(arguments, services) as agent:
            start = time.monotonic()
            reader, path, purchase = begin(agent, length)
            reader.get(path)
            purchase.join()
            read.append(length / (time.monotonic() - start) / 1e6)
            verified += [1000 * reader.get(path, number * PAGE)[0] for number in range(min(100, length // PAGE))]
    return [row("reading-speed", f"{length // 1_000_000} MB with one reader", "MB/s", {"pullbox": read, "unread": plain},
                [Target("unread", 0.97, "at least")]),
            row("reading-verified", "a verified page of 1 MiB over the socket", "ms",
                {"pullbox": [sorted(verified)[len(verified) // 2]]}, [Target(None, 1.3)])]


def rows(arguments, services, Agent, package):
    length = min(arguments.bytes, LENGTH)
    services.publish(PRODUCT, package(arguments, PRODUCT, length))
    return slow_rows(arguments, services, Agent, length) + fast_rows(arguments, services, Agent, length)
