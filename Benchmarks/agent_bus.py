"""What the agent takes of others' machine while they use it: for a watcher on the bus, beside a foreground that reads and sends, and
while it has nothing to do. Run through scripts/bench agent --only bus, beside and idle."""
import http.client
import json
import os
import shutil
import socket
import statistics
import struct
import subprocess
import threading
import time
from pathlib import Path

from measuring import run, say, wait_until, wake_ups
from reporting import Target, row

MEBIBYTE = 1 << 20
RUNNING = 3
# Slow enough for the whole measure, and so that what the transfers cost hides nothing.
SPEED, LENGTH = 64 << 10, 32 * MEBIBYTE
WINDOW_SECONDS, FOREGROUND_SECONDS, QUIET_SECONDS = 20, 6, 60


def threads(pid, read):
    """What `read` says of each thread of a process, by number and name."""
    told = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            told[task.name, (task / "comm").read_text().strip()] = read(task)
        except FileNotFoundError:
            pass
    return told


def grown(before, after):
    return {thread: count - before.get(thread, 0) for thread, count in after.items()}


def nanoseconds(pid):
    """That the threads of a process were on a processor."""
    return threads(pid, lambda task: int((task / "schedstat").read_text().split()[0]))


def switches(pid):
    """How often each thread of a process has waited and was woken."""
    def read(task):
        line = next(line for line in (task / "status").read_text().splitlines() if line.startswith("voluntary"))
        return int(line.split()[1])
    return threads(pid, read)


def ask(path, method, target, body=None):
    """The answer of an agent."""
    connection = http.client.HTTPConnection("agent", timeout=60)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(path))
    connection.request(method, target, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
    answer = json.loads(connection.getresponse().read() or "null")
    connection.close()
    return answer


# ---- a bus


CONFIGURATION = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path={path}</listen><auth>EXTERNAL</auth><policy context="default">
<allow user="*"/><allow own="*"/><allow send_type="method_call"/><allow send_destination="*"/><allow receive_sender="*"/>
</policy></busconfig>
"""


class Bus:
    """A dbus-daemon of the benchmark's own."""

    def __init__(self, directory):
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / "bus"
        self.path.unlink(missing_ok=True)
        configuration = directory / "bus.conf"
        configuration.write_text(CONFIGURATION.format(path=self.path))
        self.process = subprocess.Popen(["dbus-daemon", f"--config-file={configuration}", "--nofork", "--nopidfile"])
        wait_until(self.path.exists, "a bus")

    @property
    def variable(self):
        return f"DBUS_SYSTEM_BUS_ADDRESS=unix:path={self.path}"

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


class Watcher:
    """A connection to the bus that asks the agent for its objects, and reads what changes from then on."""

    def __init__(self, path):
        self.signals = 0
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.socket.sendall(b"\0AUTH EXTERNAL " + str(os.geteuid()).encode().hex().encode() + b"\r\n")
        if not self.socket.recv(256).startswith(b"OK"):
            raise RuntimeError("the bus takes no connection")
        self.socket.sendall(b"BEGIN\r\n")
        self.stream = self.socket.makefile("rb")
        self.call(1, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello")
        self.call(2, "com.pullbox.Agent1", "/com/pullbox/Agent1", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
        while True:
            kind, answers = self.read()
            if answers == 2:
                break
        if kind != 2:
            raise RuntimeError("the agent does not tell its objects")
        threading.Thread(target=self.follow, daemon=True).start()

    def call(self, serial, destination, path, interface, member):
        """A call without arguments (D-Bus specification, "Message Format")."""
        fields = b""
        for code, kind, value in ((1, "o", path), (2, "s", interface), (3, "s", member), (6, "s", destination)):
            fields += b"\0" * (-len(fields) % 8)
            fields += struct.pack("<BBcB", code, 1, kind.encode(), 0) + struct.pack("<I", len(value)) + value.encode() + b"\0"
        head = struct.pack("<cBBBIII", b"l", 1, 0, 1, 0, serial, len(fields)) + fields
        self.socket.sendall(head + b"\0" * (-len(head) % 8))

    def read(self):
        """The kind of the next message, and the number of the call that it answers, or nil."""
        head = self.stream.read(16)
        if len(head) < 16:
            raise EOFError
        _, kind, _, _, body, _, length = struct.unpack("<cBBBIII", head)
        rest = self.stream.read(length + -length % 8 + body)
        # The field of the call, REPLY_SERIAL, is a number.
        place = rest.find(b"\5\1u\0", 0, length)
        return kind, struct.unpack_from("<I", rest, place + 4)[0] if place >= 0 else None

    def follow(self):
        try:
            while True:
                self.signals += self.read()[0] == 4
        except (EOFError, OSError, ValueError):
            pass

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def share(pid, seconds):
    """The percentage of a processor that a process takes."""
    before = nanoseconds(pid)
    time.sleep(seconds)
    return sum(grown(before, nanoseconds(pid)).values()) / 1e9 / seconds * 100


def begin_downloads(agent, services, package, arguments):
    """Downloads that run for as long as anything is measured, and their identifiers."""
    for number in range(RUNNING):
        product = f"com.example.bench.slow{number}"
        services.publish(product, package(arguments, product, LENGTH))
        agent.pullbox("buy", product, "--yes")

    def running():
        listed = ask(agent.socket, "GET", "/v1/downloads")["downloads"]
        return [one["id"] for one in listed if one["state"] == "active" and one["bytesReceived"] > 0]

    wait_until(lambda: len(running()) == RUNNING, f"{RUNNING} running downloads")
    return running()


def bus_rows(arguments, services, Agent, package):
    """What telling one watcher of three running downloads takes, by windows with and without one, in turn."""
    if shutil.which("dbus-daemon") is None:
        say("  bus: there is no dbus-daemon; nothing is measured")
        return []
    bus = Bus(arguments.work / "bus")
    without, beside = [], []
    try:
        with Agent(arguments, services, wrapper=("env", bus.variable), bus="system", maximumSpeed=SPEED,
                   maximumDownloads=RUNNING, metered="ignore", busy="ignore") as agent:
            begin_downloads(agent, services, package, arguments)
            for _ in range(arguments.runs):
                without.append(share(agent.daemon.pid, WINDOW_SECONDS))
                watcher = Watcher(bus.path)
                before = watcher.signals
                beside.append(share(agent.daemon.pid, WINDOW_SECONDS))
                told = (watcher.signals - before) / WINDOW_SECONDS
                watcher.close()
                if told < RUNNING / 2:
                    raise RuntimeError(f"the watcher was told {told:.1f} changes a second")
                say(f"  bus: {without[-1]:.3f} % of a processor, {beside[-1]:.3f} % with a watcher, who is told {told:.1f} changes a second")
    finally:
        bus.stop()
    more = statistics.median(beside) - statistics.median(without)
    return [row("bus", f"property changes of {RUNNING} running downloads for a watcher, of a processor", "%",
                {"pullbox": [more]}, [Target(None, 0.3)])]


# ---- a foreground

# As its unit, the agent has a control group of its own, by which it tells its waits for the disk from those of others.
IN_A_GROUP = """set -e
mount -t cgroup2 none /sys/fs/cgroup
mkdir -p /sys/fs/cgroup/pullbox-bench
echo $$ >/sys/fs/cgroup/pullbox-bench/cgroup.procs
exec "$@"
"""


def read_disk(arguments):
    """Bytes a second that a reader of small blocks has."""
    file = arguments.work / "fio"
    told = json.loads(run("fio", "--name=foreground", f"--filename={file}", "--size=256m", "--rw=randread", "--bs=16k", "--direct=1",
                          "--ioengine=psync", "--time_based", f"--runtime={FOREGROUND_SECONDS}", "--output-format=json"))
    return told["jobs"][0]["read"]["bw_bytes"]


def send_bytes(port):
    """Bytes a second that a sender has on the loopback."""
    told = json.loads(run("iperf3", "--client", "127.0.0.1", "--port", port, "--time", FOREGROUND_SECONDS, "--json"))
    return told["end"]["sum_received"]["bits_per_second"] / 8


def beside_rows(arguments, services, Agent, package):
    """A foreground alone and beside a download in the background, in turn, by root. The server's threads go behind all others: it would be
    on another machine."""
    missing = [name for name in ("fio", "iperf3") if shutil.which(name) is None]
    if missing:
        say(f"  beside: there is no {' and no '.join(missing)}; nothing is measured")
        return []
    port = arguments.port_base + 20
    listener = subprocess.Popen(["iperf3", "--server", "--port", str(port)], stdout=subprocess.DEVNULL)
    product = "com.example.bench.background"
    services.publish(product, package(arguments, product))
    for task in Path(f"/proc/{services.server.pid}/task").iterdir():
        os.sched_setscheduler(int(task.name), os.SCHED_IDLE, os.sched_param(0))
    foregrounds = {"fio": lambda: read_disk(arguments), "iperf3": lambda: send_bytes(port)}
    kept = {name: [] for name in foregrounds}
    try:
        for name, use in foregrounds.items():
            use()
            for _ in range(arguments.runs):
                alone = use()
                with Agent(arguments, services, wrapper=("unshare", "--mount", "sh", "-c", IN_A_GROUP, "sh")) as agent:
                    agent.pullbox("buy", product, "--yes")

                    def download():
                        listed = ask(agent.socket, "GET", "/v1/downloads")["downloads"]
                        return listed[0] if listed else None

                    wait_until(lambda: download(), "a download")
                    ask(agent.socket, "PATCH", f"/v1/downloads/{download()['id']}", {"urgency": "background"})
                    wait_until(lambda: download()["bytesReceived"] > 0, "a download that runs")
                    kept[name].append(use() / alone)
                    last = download()
                    say(f"  beside: {name} has {kept[name][-1]:.3f} of {alone / MEBIBYTE:.0f} MiB/s; the download is {last['state']} "
                        f"with {last['bytesReceived'] / MEBIBYTE:.0f} MiB")
    finally:
        listener.terminate()
        listener.wait(10)
        (arguments.work / "fio").unlink(missing_ok=True)
    return [row(f"beside-{name}", f"{name} beside a download in the background, by alone", "ratio", {"pullbox": ratios},
                [Target(None, 0.95, "at least")]) for name, ratios in kept.items()]


# ---- nothing to do


def idle_rows(arguments, services, Agent, package):
    """How often an agent that has nothing to do is woken; and each thread of it by itself, so that one wake-up may be several."""
    woken, turns = [], []
    with Agent(arguments, services) as agent:
        time.sleep(10)
        for _ in range(arguments.runs):
            before = switches(agent.daemon.pid)
            woken.append(wake_ups(agent.daemon.pid, QUIET_SECONDS))
            counts = {}
            for (_, name), count in grown(before, switches(agent.daemon.pid)).items():
                counts[name] = counts.get(name, 0) + count
            turns.append(sum(counts.values()) / QUIET_SECONDS)
            say(f"  idle: {woken[-1]:.2f} a second, {turns[-1]:.2f} of threads; "
                + ", ".join(f"{name} {count}" for name, count in counts.items() if count))
    return [row("idle", "idle, wake-ups a second", "1/s", {"pullbox": woken}, [Target(None, 0.5)]),
            row("idle-threads", "the same, of each thread by itself", "1/s", {"pullbox": turns}, [])]
