"""What observers of an agent wait for, and what following one costs, for scripts/bench agent --only events."""
import http.client
import json
import os
import socket
import subprocess
import threading
import time

from agent_bus import ask
from measuring import wait_until, wake_ups
from reporting import Target, row

PRODUCT = "com.example.bench.event"
LENGTH, SPEED = 32 << 20, 64 << 10
CHANGES = 1_000
# The agent sends a comment line every 15 s: three or four in this time.
QUIET_SECONDS = 59


class Observer(threading.Thread):
    """Reads the stream as an application does, and notes when each priority of a download came."""

    def __init__(self, agent):
        super().__init__(daemon=True)
        self.came = {}
        self.connection = http.client.HTTPConnection("agent", timeout=120)
        self.connection.sock = socket.socket(socket.AF_UNIX)
        self.connection.sock.connect(str(agent.socket))
        self.connection.request("GET", "/v1/events")
        self.stream = self.connection.getresponse()
        self.start()

    def run(self):
        name = None
        try:
            for line in iter(self.stream.readline, b""):
                if line.startswith(b"event: "):
                    name = line[7:].strip()
                elif line.startswith(b"data: ") and name == b"download":
                    now = time.monotonic()
                    self.came.setdefault(json.loads(line[6:]).get("priority"), now)
        except (OSError, http.client.HTTPException, ValueError, AttributeError):
            # The benchmark closes the connection under it.
            pass

    def close(self):
        self.connection.sock.shutdown(socket.SHUT_RDWR)


def paused(agent, services, package, arguments):
    """A download of which something has come, and that moves no more."""
    services.publish(PRODUCT, package(arguments, PRODUCT, LENGTH))
    agent.pullbox("buy", PRODUCT, "--yes")

    def listed():
        downloads = ask(agent.socket, "GET", "/v1/downloads")["downloads"]
        return downloads[0] if downloads and downloads[0]["bytesReceived"] > 0 else None

    download = f"/v1/downloads/{wait_until(listed, 'a download that runs')['id']}"
    ask(agent.socket, "POST", f"{download}/pause")
    return download


def event_seconds(agent, download):
    """From asking for a change of the paused download to its event, for each of many."""
    observer, connection = Observer(agent), http.client.HTTPConnection("agent", timeout=60)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(agent.socket))
    taken = []
    for number in range(CHANGES):
        priority = 1 + number % 1_000
        observer.came.pop(priority, None)
        start = time.monotonic()
        connection.request("PATCH", download, json.dumps({"priority": priority}), {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            raise RuntimeError(f"a priority is answered {response.status}")
        response.read()
        taken.append(wait_until(lambda: observer.came.get(priority), "an event") - start)
    observer.close()
    connection.close()
    return taken


def follower_wake_ups(arguments, agent):
    """How often the kit's follower is woken while nothing changes, by the command that follows downloads."""
    follower = subprocess.Popen(
        [arguments.bin / "pullbox", "downloads", "--watch", "--json"], stdout=subprocess.PIPE,
        env=os.environ | {"PULLBOX_AGENT_SOCKET": str(agent.socket)})
    try:
        # It tells the paused download first.
        if not follower.stdout.readline():
            raise RuntimeError("the follower has ended")
        # libcurl looks once, ten seconds behind the beginning, whether there is a connection.
        time.sleep(12)
        woken = round(wake_ups(follower.pid, QUIET_SECONDS) * QUIET_SECONDS)
        if follower.poll() is not None:
            raise RuntimeError("the follower has ended")
        return woken
    finally:
        follower.terminate()
        follower.wait(10)


def rows(arguments, services, Agent, package):
    late, woken = [], []
    for _ in range(arguments.runs):
        with Agent(arguments, services, maximumSpeed=SPEED, metered="ignore", busy="ignore") as agent:
            download = paused(agent, services, package, arguments)
            taken = sorted(event_seconds(agent, download))
            late.append(1000 * taken[len(taken) * 99 // 100])
            woken.append(follower_wake_ups(arguments, agent))
    return [row("events-late", f"asking for a change to its event at an app, p99 of {CHANGES:,}", "ms", {"pullbox": late},
                [Target(None, 5)]),
            row("events-follower", f"the kit's follower while nothing changes, wake-ups in {QUIET_SECONDS} s", "1", {"pullbox": woken},
                [Target(None, 4)])]
