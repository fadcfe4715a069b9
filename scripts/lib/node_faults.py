"""What goes wrong beside deaths: a clock that is set, a disk that is full, and a store that answers what it should not."""

import collections
import contextlib
import http.client
import http.server
import os
import pathlib
import random
import shutil
import struct
import subprocess
import threading
import time
import urllib.parse

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent / "Tests/Preload/setclock.c"


class WallClock:
    """The wall clock of one node, which can be set while that runs; the monotonic one is the machine's. What is preloaded does it."""

    def __init__(self, directory):
        self.library, self.file = directory / "setclock.so", directory / "clock"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", self.library, SOURCE], check=True)
        self.file.write_bytes(bytes(24))

    @staticmethod
    def is_available():
        return shutil.which("cc") is not None

    def environment(self):
        return os.environ | {"LD_PRELOAD": str(self.library), "SETCLOCK_FILE": str(self.file)}

    def set(self, seconds, drift=0):
        """Ahead of the machine's by so many seconds, or behind it; and from now on by `drift` millionths of the time that goes by more. The
        file is mapped: its bytes change in their place."""
        with open(self.file, "r+b", buffering=0) as file:
            file.write(struct.pack("=3q", seconds, drift, time.monotonic_ns()))


class SmallDisk:
    """A file system in memory that can be filled; only root can mount one."""

    def __init__(self, path, mebibytes):
        self.path, self.mebibytes = path, mebibytes
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=0755", "pullbox-check", str(path)], check=True)

    @staticmethod
    def is_available():
        return os.geteuid() == 0 and shutil.which("mount") is not None

    def fill(self):
        with contextlib.suppress(OSError), open(self.path / "filler", "wb", buffering=0) as file:
            for size in (1 << 20, 4096):
                with contextlib.suppress(OSError):
                    while file.write(bytes(size)) == size:
                        pass

    def squeeze(self):
        """Leaves room for nothing more, and takes none from the machine's memory."""
        status = os.statvfs(self.path)
        used = (status.f_blocks - status.f_bfree) * status.f_frsize
        self.resize(used // 1024 + 4)

    def resize(self, kibibytes=None):
        """As large as it was made, unless told otherwise. A system of files that has more already stays as it is."""
        size = kibibytes or self.mebibytes << 10
        subprocess.run(["mount", "-o", f"remount,size={size}k", str(self.path)], check=False, stderr=subprocess.DEVNULL)

    def clear(self):
        (self.path / "filler").unlink(missing_ok=True)

    def remove(self):
        subprocess.run(["umount", "--lazy", str(self.path)], check=False)


class StoreProxy(http.server.ThreadingHTTPServer):
    """Stands between nodes and their object store. While a fault is set, half of the answers have it."""

    FAULTS = ("slow", "cut", "bytes", "busy", "range")
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port, endpoint, seed):
        super().__init__(("127.0.0.1", port), StoreCall)
        self.target, self.random = urllib.parse.urlsplit(endpoint), random.Random(seed)
        self.fault, self.counts, self.spoiled, self.lock = None, collections.Counter(), set(), threading.Lock()
        self.endpoint = f"http://127.0.0.1:{port}"

    def start(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def stop(self):
        self.shutdown()
        self.server_close()

    def set(self, fault):
        with self.lock:
            self.fault = fault
            self.spoiled = set()

    def choose(self, method, path):
        """The fault of one answer; nil for a good one. Other bytes come once of an object, since twice sets a package aside, as it should."""
        with self.lock:
            fault = self.fault
            if fault is None or self.random.random() < 0.5:
                return None
            if fault in ("bytes", "range") and (method != "GET" or "/packages/" not in path):
                return None
            if fault == "bytes":
                if path in self.spoiled:
                    return None
                self.spoiled.add(path)
            self.counts[fault] += 1
            return fault

    def handle_error(self, request, client_address):
        """A node that was killed is no error of the proxy."""


class StoreCall(http.server.BaseHTTPRequestHandler):
    """One connection of a node. A request goes on as it came, since it is signed."""

    protocol_version = "HTTP/1.1"
    SLOW_SECONDS = 8
    PIECES = 8

    def log_message(self, *_):
        pass

    def forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.server.choose(self.command, self.path)
        if fault == "busy":
            return self.say_busy()
        connection = http.client.HTTPConnection(self.server.target.hostname, self.server.target.port, timeout=60)
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in ("connection", "expect"):
                    connection.putheader(name, value)
            connection.endheaders(body or None)
            answer = connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException):
            # The store is away: as without a proxy, the connection is lost.
            self.close_connection = True
            return None
        finally:
            connection.close()
        return self.pass_on(answer, data, fault)

    do_GET = do_HEAD = do_PUT = do_DELETE = do_POST = forward

    def say_busy(self):
        text = b'<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Reduce your rate</Message></Error>'
        self.send_response_only(503)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def pass_on(self, answer, data, fault):
        self.send_response_only(answer.status, answer.reason)
        length = answer.headers.get("Content-Length") if self.command == "HEAD" else str(len(data))
        for name, value in answer.headers.items():
            if name.lower() in ("connection", "transfer-encoding", "content-length"):
                continue
            if fault == "range" and name.lower() == "content-range":
                value = "bytes 1-" + value.removeprefix("bytes ").split("-", 1)[1]
            self.send_header(name, value)
        if length is not None and answer.status != 204:
            self.send_header("Content-Length", length)
        self.end_headers()
        if self.command == "HEAD":
            return
        if fault == "bytes" and answer.status in (200, 206) and data:
            data = bytes([data[0] ^ 1]) + data[1:]
        if fault == "cut":
            data = data[:len(data) // 2]
            self.close_connection = True
        step = len(data) // self.PIECES + 1
        for offset in range(0, len(data), step):
            if fault == "slow":
                time.sleep(self.SLOW_SECONDS / self.PIECES)
            self.wfile.write(data[offset:offset + step])
