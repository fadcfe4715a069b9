"""How well the end of a download is foretold, beside curl and aria2c, over ways whose speed changes. Run through
scripts/bench eta."""
import argparse
import concurrent.futures
import contextlib
import fcntl
import os
import re
import select
import socket
import struct
import subprocess
import termios
import threading
import time
from pathlib import Path

from agent import Agent, ask_agent
from measuring import run, say
from reporting import Results, Target, row, show
from services import Services

PRODUCT = "com.example.bench.eta"
BETTER = "the better of both"
# What would be told by one who knew from the beginning how fast curl's transfer will have been on the whole.
KNOWN = "its mean, known beforehand"
# Bytes a second of a way whose speed is 1.
UNIT = 2_000_000
SLICE = 0.05
# One piece of a way, at most: much less than what waits in the connection to the server, so that there is always a whole one.
PIECE = 32 * 1024
# The errors are those around these shares of the package, as far to both sides.
SHARES, WIDTH = (0.25, 0.5, 0.75), 0.03
# How a download of 570 MB from PyPI went on 2026-11-29, in hundredths of its mean, each for half a second here; it took 1.9 s there.
RECORDED = [
    108, 128, 74, 140, 96, 153, 139, 150, 8, 129, 166, 144, 132, 56, 116, 145, 136, 102, 45, 154, 116, 138, 48, 75, 38, 112, 94, 64,
    130, 59, 74, 99, 214, 0, 0, 0, 116, 155, 181, 80, 154, 163, 114, 21, 41, 3, 3, 4, 3, 3, 3, 4, 75, 104, 13, 90, 129, 106, 228, 50,
    163, 48, 41, 43, 57, 192, 203, 88, 206, 106, 135, 132, 158, 80, 93, 167, 107, 176, 114, 121, 154, 136, 132, 13, 97, 93, 162, 121,
    99, 128]
# The speed of each way by the seconds since its first byte, in units.
WAYS = {
    "steady": ("a steady way", lambda seconds: 1),
    "sawtooth": ("a way that gives 0.5 and 1.5 times its mean in turns of 3 s", lambda seconds: 1.5 if int(seconds / 3) % 2 else 0.5),
    "stall": ("a way that gives nothing from second 8 to 20", lambda seconds: 0 if 8 <= seconds < 20 else 1),
    "ramp": ("a way whose speed rises from 0.25 by 0.04 a second", lambda seconds: 0.25 + 0.04 * seconds),
    "cap": ("a way that gives each connection half", lambda seconds: 0.5),
    "recorded": ("a way as recorded", lambda seconds: RECORDED[int(seconds * 2) % len(RECORDED)] / 100),
}
ELSEWHERE = Target(BETTER, 0.5)
# For the peers, which have one connection, a way that gives each connection half is a steady one.
TARGETS = {"steady": [Target(None, 0.05)], "sawtooth": [Target(None, 0.2)], "cap": [ELSEWHERE, Target(None, 0.05)]}


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench eta")
    parser.add_argument("--only", action="append", choices=list(WAYS), metavar="WAY",
                        help=f"measure only over this way; may be repeated. Ways: {', '.join(WAYS)}")
    parser.add_argument("--bytes", type=int, default=200_000_000, metavar="N",
                        help="length of the package: 100 s of a steady way, unless given")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="times each contender is measured")
    parser.add_argument("--port-base", type=int, default=30580, metavar="N")
    parser.add_argument("--root", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--bin", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


class Line:
    """What carries one piece after the other, of whichever connection."""

    def __init__(self):
        self.lock, self.free = threading.Lock(), 0

    def wait(self, seconds):
        """Until a piece has passed that takes so long. What this relay itself was late by is made up for, within a quarter of a second."""
        with self.lock:
            self.free = max(self.free, time.monotonic() - 0.25) + seconds
            end = self.free
        time.sleep(max(0, end - time.monotonic()))


class Way:
    """A relay before the server, whose bodies come at the speed of a way. What is short comes at once: grants and manifests
    are no part of the transfer."""

    SHORT = 256 * 1024

    def __init__(self, port, speed, is_by_connection):
        self.port, self.speed, self.is_by_connection = port, speed, is_by_connection
        self.passed, self.began, self.log = 0, None, []
        self.line = Line()
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.port))
                # Little lies between here and the client: what it sees is what passes.
                near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32 * 1024)
                far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
                threading.Thread(target=self.ask, args=[near, far], daemon=True).start()
                threading.Thread(target=self.answer, args=[far, near], daemon=True).start()

    @staticmethod
    def ask(near, far):
        with contextlib.suppress(OSError):
            while piece := near.recv(65_536):
                far.sendall(piece)
        with contextlib.suppress(OSError):
            far.shutdown(socket.SHUT_WR)

    def answer(self, far, near):
        own, line = 0, Line() if self.is_by_connection else self.line
        with contextlib.suppress(OSError):
            while True:
                if own < self.SHORT:
                    piece = far.recv(16_384)
                else:
                    speed = self.speed_now()
                    if not speed:
                        time.sleep(SLICE)
                        continue
                    piece = self.read(far, min(int(speed * SLICE), PIECE))
                    line.wait(len(piece) / speed)
                if not piece:
                    break
                near.sendall(piece)
                own += len(piece)
                self.note(len(piece))
        for one in (near, far):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def speed_now(self):
        """Bytes a second."""
        now = time.monotonic()
        with self.lock:
            self.began = self.began or now
        return self.speed(now - self.began) * UNIT

    @staticmethod
    def read(far, count):
        """So many bytes, or what comes before a pause of the server."""
        piece = far.recv(count)
        while piece and len(piece) < count and select.select([far], [], [], 0.01)[0]:
            more = far.recv(count - len(piece))
            if not more:
                break
            piece += more
        return piece

    def note(self, count):
        with self.lock:
            self.passed += count
            self.log.append((time.monotonic(), self.passed))

    def close(self):
        self.listener.close()


def p90(looks, way, end, length):
    """Of looks, each the time and the seconds that were told then."""
    errors = []
    log = iter(way.log)
    passed = 0
    entry = next(log, None)
    for at, told in looks:
        while entry and entry[0] <= at:
            passed = entry[1]
            entry = next(log, None)
        near = any(abs(passed / length - share) <= WIDTH for share in SHARES)
        if near and told is not None and end - at > 1:
            errors.append(abs(told - (end - at)) / (end - at))
    if not errors:
        raise RuntimeError("nothing was foretold")
    return sorted(errors)[len(errors) * 9 // 10]


def watch_agent(arguments, services, way):
    looks = []
    with Agent(arguments, services, server=way.url) as agent:
        agent.pullbox("buy", PRODUCT, "--yes")
        while True:
            _, answer = ask_agent(agent.socket, "/v1/downloads")
            now = time.monotonic()
            (download,) = answer["downloads"] or [{"state": "waiting", "timeRemaining": None}]
            if download["state"] == "finished":
                return looks, now
            if download["state"] in ("failed", "cancelled"):
                raise RuntimeError(str(download))
            looks.append((now, download["timeRemaining"]))
            time.sleep(0.25)


def watch(command, find):
    """What a program tells on its terminal of the time that is left, as `find` reads it."""
    looks = []
    near, far = os.openpty()
    # aria2c shows as much as fits.
    fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
    with subprocess.Popen([str(word) for word in command], stdout=far, stderr=far, stdin=subprocess.DEVNULL) as process:
        os.close(far)
        text = ""
        with contextlib.suppress(OSError):
            while piece := os.read(near, 65_536):
                text = (text + piece.decode(errors="replace"))[-2000:]
                found = find(text)
                if found is not None:
                    looks.append((time.monotonic(), found))
    os.close(near)
    if process.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}: {text[-400:]}")
    return looks, time.monotonic()


def curl_time(text):
    """Of the meter's last whole line: total, received and sent, two speeds, three times, the current speed."""
    lines = [line for line in re.split(r"[\r\n]", text)[:-1] if re.match(r"\s*\d+\s+[\d.]+[kMG]?\s", line)]
    if not lines:
        return None
    times = re.findall(r"(\d+):(\d\d):(\d\d)|(-{1,2}:--:--)", lines[-1])
    if len(times) < 3 or times[2][3]:
        return None
    return int(times[2][0]) * 3600 + int(times[2][1]) * 60 + int(times[2][2])


def aria_time(text):
    text = re.sub("\x1b\\[[0-9;]*m", "", text)
    found = re.findall(r"ETA:(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?\]", text)
    return sum(int(value or 0) * unit for value, unit in zip(found[-1], (3600, 60, 1), strict=True)) if found else None


def watch_peer(name, arguments, services, way):
    terms = services.buy(PRODUCT, f"bench-{name}")
    url, field = way.url + terms["contentURL"], f"Authorization: Bearer {terms['ticket']}"
    path = arguments.work / f"fetched-{name}"
    path.unlink(missing_ok=True)
    if name == "curl":
        return watch(["curl", "--fail", "--noproxy", "*", "--header", field, "-o", path, url], curl_time)
    return watch(["aria2c", "--no-conf", "--all-proxy=", "-x1", "--summary-interval=0", "--file-allocation=none", f"--header={field}",
                  "-d", path.parent, "-o", path.name, url], aria_time)


def known_mean(way, end, length):
    """Looks of one who knows how long the transfer of this way will have taken."""
    seconds = end - way.log[0][0]
    return [(at, (length - passed) * seconds / length) for at, passed in way.log]


def measure(arguments, services, name, contender):
    """The error of a contender, and of one who knew its mean."""
    _, speed = WAYS[name]
    way = Way(arguments.port_base, speed, is_by_connection=name == "cap")
    try:
        if contender == "pullbox":
            looks, end = watch_agent(arguments, services, way)
        else:
            looks, end = watch_peer(contender, arguments, services, way)
        return p90(looks, way, end, arguments.bytes), p90(known_mean(way, end, arguments.bytes), way, end, arguments.bytes)
    finally:
        way.close()


def row_way(arguments, services, name):
    contenders = ("pullbox", "curl", "aria2c")
    samples = {contender: [] for contender in (*contenders, KNOWN)}
    for _ in range(arguments.runs):
        # Beside each other, each over a way of its own: none has more than a small part of a processor to do.
        with concurrent.futures.ThreadPoolExecutor(len(contenders)) as pool:
            measured = list(pool.map(lambda contender: measure(arguments, services, name, contender), contenders))
        for contender, (error, known) in zip(contenders, measured, strict=True):
            samples[contender].append(error)
            if contender == "curl":
                samples[KNOWN].append(known)
    samples[BETTER] = [min(pair) for pair in zip(samples["curl"], samples["aria2c"], strict=True)]
    return row(name, f"the time remaining over {WAYS[name][0]}: error of nine of ten looks", "of what remained", samples,
               TARGETS.get(name, [ELSEWHERE]))


def main():
    arguments = parse_arguments()
    results = Results(arguments.root / "Benchmarks/results/eta.json", "eta", {"bytes": arguments.bytes, "runs": arguments.runs})
    services = Services(arguments)
    try:
        package = arguments.work / "eta.cbz"
        if not package.exists():
            say("Making the package")
            run("python3", "-B", arguments.root / "content/generate", "package", "--size", arguments.bytes, package)
        services.publish(PRODUCT, package)
        for name in arguments.only or WAYS:
            measured = row_way(arguments, services, name)
            results.add(measured)
            show(measured)
    finally:
        services.stop()


if __name__ == "__main__":
    main()
