"""Packing, uploading, and what operators ask, beside what they would use instead. Run through scripts/bench publish."""
import argparse
import contextlib
import os
import re
import socket
import sqlite3
import statistics
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import peers
from measuring import memory, peak_memory, run, say
from reporting import Results, Target, row, show
from services import Services

MEBIBYTE = 1 << 20
VERSIONS = 5
SMALL, LARGE = 100, 10_000
TEMPLATE = "com.example.bench.p00000"


def parse_arguments():
    parser = argparse.ArgumentParser(prog="scripts/bench publish")
    parser.add_argument("--only", action="append", choices=ROWS, metavar="ROW",
                        help=f"measure only this row; may be repeated. Rows: {', '.join(ROWS)}")
    parser.add_argument("--pairs", type=int, default=5, metavar="N", help="times each contender is measured")
    parser.add_argument("--bytes", type=int, default=2_147_483_648, metavar="N", help="size of the package")
    parser.add_argument("--files", type=int, default=2000, metavar="N", help="pages in the folder")
    parser.add_argument("--products", type=int, default=LARGE, metavar="N", help="products of the large catalogue")
    parser.add_argument("--port-base", type=int, default=28080, metavar="N")
    parser.add_argument("--root", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--bin", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def settled(work):
    """What earlier runs left to be written must not be paid for by the next."""
    run("sync", "--file-system", work)


# ---- packing


def run_with_peak(*command):
    """Wall seconds of a command, and its peak memory in bytes."""
    start = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{command[0]} {command[1]}: exit code {process.returncode}")
    return time.monotonic() - start, usage.ru_maxrss * 1024


def row_pack(arguments):
    folder = arguments.work / "folder"
    if not folder.exists():
        say(f"Making {arguments.files:,} incompressible pages, {arguments.bytes:,} bytes")
        run("python3", "-B", arguments.root / "content/generate", "package", "--size", arguments.bytes - 1_500_000,
            "--files", arguments.files, "--product", "com.example.bench.folder", folder)
    ours, theirs, peaks = [], [], []
    package = arguments.work / "packed.cbz"
    for _ in range(arguments.pairs):
        settled(arguments.work)
        seconds, peak = run_with_peak(arguments.bin / "pullbox", "pack", folder, "--output", package)
        ours.append(seconds)
        peaks.append(peak / MEBIBYTE)
        package.unlink()
        settled(arguments.work)
        start = time.monotonic()
        run("zip", "-0", "-q", "-r", package, ".", cwd=folder)
        run("sha256sum", package)
        theirs.append(time.monotonic() - start)
        package.unlink()
    name = f"pack and hash {arguments.bytes / 2**30:.3g} GiB of pages"
    return [row("pack", name, "s", {"pullbox": ours, "zip -0 + sha256sum": theirs},
                [Target("zip -0 + sha256sum", 1.1)], bytes=arguments.bytes, files=arguments.files),
            row("pack-memory", name + ", peak memory", "MiB", {"pullbox": peaks}, [Target(None, 64)])]


# ---- uploading


DAV = """
    location /dav/ {{
      alias {directory}/;
      dav_methods PUT;
    }}
"""


def curl(*words):
    return run("curl", "--silent", "--show-error", "--fail-with-body", "--noproxy", "*", *words)


class Uploader:
    """Sends a file with tus 1.0.0, curl being the client as for nginx."""

    def __init__(self, services):
        self.services = services
        self.headers = ["--header", f"Authorization: Bearer {services.key}", "--header", "Tus-Resumable: 1.0.0"]

    def begin(self, length):
        answer = curl("--dump-header", "-", "--request", "POST", *self.headers, "--header", f"Upload-Length: {length}",
                      self.services.server_url + "/v1/operator/uploads")
        location = re.search(r"(?im)^location:\s*(\S+)", answer).group(1)
        return location if location.startswith("http") else self.services.server_url + location

    def words(self, location, file):
        return ["--request", "PATCH", "--upload-file", str(file), *self.headers, "--header", "Upload-Offset: 0",
                "--header", "Content-Type: application/offset+octet-stream", "--header", "Expect:", location]

    def end(self, location):
        curl("--request", "DELETE", *self.headers, location)


def make_package(arguments):
    package = arguments.work / "package.cbz"
    if not package.exists():
        run("python3", "-B", arguments.root / "content/generate", "package", "--size", arguments.bytes, package)
    return package


@contextlib.contextmanager
def upload_peers(arguments, services, port):
    """Who takes uploads: ours by tus, and nginx's DAV module, which writes below a directory."""
    directory = arguments.work / "dav"
    directory.mkdir(exist_ok=True)
    nginx = peers.Nginx("dav", port, arguments.work, arguments.work, locations=DAV.format(directory=directory))
    try:
        yield Uploader(services), f"http://127.0.0.1:{port}/dav/package", directory / "package"
    finally:
        nginx.stop()


def upload_samples(arguments, upload_peers, package):
    """Seconds until the package is durable, of each in turn. The client finds it in memory."""
    uploader, address, file = upload_peers
    samples = {"pullbox": [], "nginx DAV + sync": []}

    def ours():
        location = uploader.begin(package.stat().st_size)
        curl(*uploader.words(location, package))
        return lambda: uploader.end(location)

    def theirs():
        curl("--upload-file", package, "--header", "Expect:", address)
        run("sync", file)
        return file.unlink

    for pair in range(arguments.pairs):
        for name, send in [("pullbox", ours), ("nginx DAV + sync", theirs)][::1 if pair % 2 == 0 else -1]:
            run("dd", f"if={package}", "of=/dev/null", "bs=1M")
            settled(arguments.work)
            start = time.monotonic()
            remove = send()
            samples[name].append(time.monotonic() - start)
            remove()
    settled(arguments.work)
    return samples


def row_upload(arguments):
    package = make_package(arguments)
    services = Services(arguments, logLevel="warning")
    try:
        with upload_peers(arguments, services, arguments.port_base + 20) as theirs:
            samples = upload_samples(arguments, theirs, package)
            peaks = [measure_upload_memory(arguments, services, theirs[0], package)
                     for _ in range(min(3, arguments.pairs))]
    finally:
        services.stop()
    name = f"upload {arguments.bytes / 2**30:.3g} GiB, durable"
    return [row("upload", name, "s", samples, [Target("nginx DAV + sync", 1.0)], bytes=arguments.bytes),
            row("upload-memory", "server memory a running upload, four at once", "MiB", {"pullbox": peaks},
                [Target(None, 48)])]


def measure_upload_memory(arguments, services, uploader, package):
    """By how much four uploads at once raise the peak of a fresh server, a quarter of it in MiB."""
    services.server.stop()
    services.restart(logLevel="warning")
    locations = [uploader.begin(package.stat().st_size) for _ in range(4)]
    before = memory(services.server.pid, "VmRSS")
    clients = [subprocess.Popen(["curl", "--silent", "--fail", "--noproxy", "*", *uploader.words(location, package)])
               for location in locations]
    if any(client.wait() != 0 for client in clients):
        raise RuntimeError("one of four uploads failed")
    peak = peak_memory(services.server.pid)
    for location in locations:
        uploader.end(location)
    return (peak - before) / 4 / MEBIBYTE


# ---- a large catalogue


def catalogue(arguments, products, port_offset):
    """A server with that many products of five versions each. One product is published through the API; the others are
    copies of its rows, made while the server is stopped: as many uploads would take hours and test nothing more."""
    own = SimpleNamespace(**vars(arguments))
    own.work = arguments.work / f"catalogue-{products}"
    own.port_base = arguments.port_base + port_offset
    own.work.mkdir(exist_ok=True)
    services = Services(own, logLevel="warning")
    done = own.work / "filled"
    if not done.exists():
        try:
            for version in range(1, VERSIONS + 1):
                package = own.work / f"{version}.cbz"
                run("python3", "-B", arguments.root / "content/generate", "package", "--size", 100_000, "--seed", version,
                    package)
                services.pullbox("publish", package, "--product", TEMPLATE, "--version", str(version), "--release")
            services.server.stop()
            copy_product(services.state / "server.db", products)
            done.touch()
            services.restart(logLevel="warning")
        except BaseException:
            services.stop()
            raise
    return services


def copy_product(path, products):
    database = sqlite3.connect(path)
    with database:
        names = [name for number in range(1, products) for name in [f"com.example.bench.p{number:05}"]]
        for table, key in (("products", "id"), ("versions", "product")):
            columns = [column[1] for column in database.execute(f"PRAGMA table_info({table})")]
            rows = database.execute(f"SELECT {', '.join(columns)} FROM {table} WHERE {key} = ?", (TEMPLATE,)).fetchall()
            marks = ", ".join("?" for _ in columns)
            database.executemany(
                f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})",
                ([value.replace(TEMPLATE, name) if isinstance(value, str) else value for value in values]
                 for name in names for values in rows))
    database.close()


class Asker:
    """One kept connection that asks and reads answers with as little of its own as may be."""

    def __init__(self, services):
        self.socket = socket.create_connection(("127.0.0.1", services.arguments.port_base))
        self.key = services.key

    def ask(self, path):
        """Seconds from the request to the whole answer."""
        request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.key}\r\n\r\n".encode()
        start = time.perf_counter()
        self.socket.sendall(request)
        answer = b""
        while (end := answer.find(b"\r\n\r\n")) < 0:
            answer += self.receive()
        length = int(re.search(rb"(?i)\r\ncontent-length: (\d+)", answer[:end + 2]).group(1))
        while len(answer) < end + 4 + length:
            answer += self.receive()
        seconds = time.perf_counter() - start
        if not answer.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"{path}: {answer[:400]}")
        return seconds

    def receive(self):
        data = self.socket.recv(1 << 20)
        if not data:
            raise RuntimeError("the server closed the connection")
        return data

    def close(self):
        self.socket.close()


def questions(products):
    middle = f"com.example.bench.p{products // 2:05}"
    return {
        "list": "/v1/operator/products?limit=50",
        "page": f"/v1/operator/products?limit=50&after={middle}",
        "look up": f"/v1/operator/products/{middle}",
        "versions": f"/v1/operator/products/{middle}/versions",
        "public look up": f"/v1/products?id={middle}",
    }


def row_catalogue(arguments):
    small, large = catalogue(arguments, SMALL, 40), None
    try:
        large = catalogue(arguments, arguments.products, 60)
        asked = [(SMALL, Asker(small)), (arguments.products, Asker(large))]
        rows = []
        for question in questions(SMALL):
            samples = {products: [] for products, _ in asked}
            for _ in range(arguments.pairs + 1):
                for products, asker in asked:
                    times = [asker.ask(questions(products)[question]) for _ in range(100)]
                    samples[products].append(statistics.median(times) * 1e6)
            name = f"{question} of {arguments.products:,} products with {VERSIONS} versions"
            # The first hundred warm caches.
            rows.append(row("catalogue-" + question.replace(" ", "-"), name, "µs",
                            {"pullbox": samples[arguments.products][1:], f"with {SMALL}": samples[SMALL][1:]},
                            [Target(f"with {SMALL}", 1.5)]))
        for _, asker in asked:
            asker.close()
        return rows
    finally:
        small.stop()
        if large:
            large.stop()


ROWS = {"pack": row_pack, "upload": row_upload, "catalogue": row_catalogue}


def main():
    arguments = parse_arguments()
    results = Results(arguments.root / "Benchmarks/results/publish.json", "publish",
                      {"pairs": arguments.pairs, "bytes": arguments.bytes, "files": arguments.files,
                       "products": arguments.products})
    for name in arguments.only or ROWS:
        for measured in ROWS[name](arguments):
            results.add(measured)
            show(measured)


if __name__ == "__main__":
    main()
